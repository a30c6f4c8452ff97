"""``python -m geb_assets.cli`` is ``geb``."""

from geb_assets.cli.main import main

main()
