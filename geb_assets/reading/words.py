"""The words of a question or a text that carry meaning, in a comparable form."""

from __future__ import annotations

import re

WORD = r"[^\W_]+(?:['’][^\W_]+)?"
"""A word: letters and digits, an apostrophe inside."""

_WORD = re.compile(WORD)

_NO_CONTENT = """
    a about above after again all also am an and another any are aren't as at be because been
    before being below between both but by can can't cannot could couldn't did didn't do does
    doesn't doing don't down during each either else ever few for from further get gets getting go
    goes going gone got had has have having he he'll her here hers herself him himself his how i
    i'd i'll i'm i've if in into is isn't it it's its itself just know let like may maybe me might
    mine more most much must my myself neither no nor not now of off ok okay on once one only onto
    or other others ought our ours out over own per put really same shall she she'll should so some
    someone something still such than that that's the their theirs them themselves then there
    there's these they they're thing things this those through to together too under until up upon
    us very was wasn't we we'll we're were what what's when where which while who who's whom whose
    why will with within without won't would yeah yes yet you you're your yours yourself
    first last latest previous current currently following happen happened happens often please
    question recording recently right said say says see seen show shown tell time times today video
"""
STOP_WORDS = frozenset(_NO_CONTENT.split())
"""Words of English that say nothing about what a text is about, and words of asking."""

_IRREGULAR_FORMS = """
    ate eat eaten eat began begin begun begin bit bite blew blow broke break broken break brought
    bring built build burnt burn bought buy caught catch chose choose chosen choose came come drew
    draw drawn draw drank drink drunk drink drove drive driven drive fell fall fallen fall fed feed
    felt feel fought fight found find flew fly forgot forget forgotten forget froze freeze frozen
    freeze gave give given give grew grow grown grow hung hang heard hear held hold hid hide hidden
    hide kept keep knew know known know laid lay led lead left leave lent lend lit light lost lose
    made make meant mean met meet paid pay rode ride ridden ride rang ring rung ring rose rise ran
    run sang sing sung sing sat sit sold sell sent send shook shake shone shine shot shoot slept
    sleep spoke speak spoken speak spent spend stood stand stole steal stolen steal stuck stick
    swam swim swept sweep taught teach threw throw thrown throw told tell took take taken take
    thought think tore tear torn tear understood understand woke wake woken wake wore wear worn
    wear won win wrote write written write men man women woman children child people person
    knives knife
"""
_FORMS = _IRREGULAR_FORMS.split()
_IRREGULAR = dict(zip(_FORMS[::2], _FORMS[1::2], strict=True))

_SUFFIXES = ("ingly", "edly", "ings", "ing", "ies", "ied", "ers", "ed", "es", "er", "ly", "s")


def stem(word: str) -> str:
    """The word in lower case without its possessive and its commonest English endings.

    Light and rough: it joins `screws`, `screwed` and `screwing`, and `drank` with `drink`.
    """
    word = word.lower().removesuffix("'s").replace("'", "")
    word = _IRREGULAR.get(word, word)
    for suffix in _SUFFIXES:
        base = word.removesuffix(suffix)
        if base != word and len(base) >= 3:
            if suffix in ("ies", "ied"):
                return base + "y"
            if suffix != "s" and len(base) > 3 and base[-1] == base[-2] and base[-1] not in "lsz":
                base = base[:-1]
            return base.removesuffix("e") if len(base) > 3 else base
    return word.removesuffix("e") if len(word) > 3 else word


def words(text: str) -> list[str]:
    """Every word, in order, lower case."""
    return [word.lower() for word in _WORD.findall(text.replace("’", "'"))]


def content_words(text: str) -> list[str]:
    """Stems of the words that carry meaning, in order, each once."""
    found = (content_stem(word) for word in words(text))
    return list(dict.fromkeys(one for one in found if one is not None))


def content_stem(word: str) -> str | None:
    """The stem of a lower-case word, or None for one that carries no meaning."""
    word = word.replace("’", "'")
    if word in STOP_WORDS or word.removesuffix("'s") in STOP_WORDS:
        return None
    return stem(word)
