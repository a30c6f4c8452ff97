"""The one error a user can cause and mend."""

from __future__ import annotations


class GebError(Exception):
    """Something the user can mend; its text is one plain line that names the thing and the mend."""
