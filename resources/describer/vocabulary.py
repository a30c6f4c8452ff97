"""Words: how lines name the labels of a detector, and the verbs of handling things."""

from __future__ import annotations

PERSON = "person"


def words(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())


SHOWN = {
    "motorbike": "motorcycle", "aeroplane": "airplane", "sofa": "couch",
    "pottedplant": "potted plant", "diningtable": "table", "dining table": "table",
    "tvmonitor": "television", "tv": "television", "cell phone": "phone",
    "hair drier": "hair dryer", "donut": "doughnut",
}  # fmt: skip
"""Labels that are written otherwise when shown."""

NOUNS: dict[str, tuple[str, ...]] = {
    "person": ("person", "man", "woman", "guy", "lady", "girl", "boy", "child", "kid"),
    "bicycle": ("bicycle", "bike", "cycle"),
    "car": ("car", "automobile"),
    "motorcycle": ("motorcycle", "motorbike", "scooter", "bike"),
    "airplane": ("airplane", "aeroplane", "plane", "aircraft"),
    "truck": ("truck", "lorry"),
    "boat": ("boat", "ship"),
    "traffic light": ("traffic light", "stoplight"),
    "cat": ("cat", "kitten", "kitty"),
    "dog": ("dog", "puppy"),
    "horse": ("horse", "pony"),
    "backpack": ("backpack", "rucksack", "bag"),
    "handbag": ("handbag", "purse", "bag"),
    "tie": ("tie", "necktie"),
    "suitcase": ("suitcase", "luggage", "trunk"),
    "sports ball": ("sports ball", "ball", "football", "basketball"),
    "bottle": ("bottle", "flask"),
    "wine glass": ("wine glass", "wineglass", "glass", "goblet"),
    "cup": ("cup", "mug", "teacup", "coffee cup", "glass", "tumbler"),
    "bowl": ("bowl",),
    "doughnut": ("doughnut", "donut"),
    "chair": ("chair", "armchair", "stool", "seat"),
    "couch": ("couch", "sofa", "settee"),
    "potted plant": ("potted plant", "plant", "flowerpot", "houseplant"),
    "bed": ("bed",),
    "table": ("table", "dining table", "desk"),
    "toilet": ("toilet",),
    "television": ("television", "tv", "monitor", "telly"),
    "laptop": ("laptop", "computer", "notebook computer"),
    "mouse": ("computer mouse", "mouse"),
    "remote": ("remote", "remote control", "controller"),
    "keyboard": ("keyboard",),
    "phone": ("phone", "cell phone", "cellphone", "mobile phone", "smartphone", "mobile"),
    "microwave": ("microwave", "microwave oven"),
    "oven": ("oven", "stove", "cooker"),
    "sink": ("sink", "washbasin"),
    "refrigerator": ("refrigerator", "fridge"),
    "book": ("book", "textbook", "novel"),
    "clock": ("clock",),
    "teddy bear": ("teddy bear", "teddy"),
    "hair dryer": ("hair dryer", "hair drier", "hairdryer"),
}
"""Shown label to the nouns that name it, singular; other labels name themselves."""

PLURALS = {
    "man": "men", "woman": "women", "person": "people", "child": "children", "mouse": "mice",
    "knife": "knives", "sheep": "sheep", "scissors": "scissors", "skis": "skis",
}  # fmt: skip

COMPOUND_HEADS = words(
    "holder case charger cable cover cloth tennis game call shop store park door leg lid cap"
    " cleaner stand number book mat noodles room board rack lane wash seat shelf counter"
    " drawer handle strap rim"
)
"""A noun before one of these is a part or another thing: a `cup holder` is no cup."""

OTHER_THINGS = ("hot dog", "cupboard", "tennis racket", "baseball bat", "fire truck", "bookshelf")
"""Phrases that hold a noun without naming it."""

NOUN_OR_VERB = words("book chair phone cup train bowl fork park orange seat boat")
"""Nouns that are verbs too, after `to` or a bare pronoun."""

HANDLING = words(
    "pick take grab get lift raise hold carry bring fetch put place set lay drop lower move"
    " push pull drag slide turn rotate tilt shake open close shut wash rinse clean wipe dry"
    " scrub pour fill empty drain stir mix drink sip eat bite chew cut slice peel chop throw"
    " toss catch pass hand give return touch press tap click type swipe scroll use operate"
    " switch plug unplug charge wear remove attach insert fold unfold pack unpack wrap unwrap"
    " pet stroke feed ride drive park wheel read write draw fix repair assemble adjust"
    " straighten arrange stack load unload hang cover uncover knock kick break spill fall roll"
    " sit lie lean play cook heat boil bake serve water show point squeeze twist tie untie zip"
    " unzip pocket collect gather keep store leave release buy check photograph film"
)
"""Base forms of verbs that state a step taken with a thing."""

LOOKING = words("look see watch stare glance notice face talk speak walk go come stand ask")
"""Base forms of verbs that do nothing to the thing they govern."""

USED_UPON = words("type tap press click scroll swipe sit lie lean knock write draw")
"""Verbs whose thing follows `on`."""

IRREGULAR = {
    "took": "take", "taken": "take", "got": "get", "gotten": "get", "held": "hold",
    "brought": "bring", "laid": "lay", "shut": "shut", "poured": "pour", "drank": "drink",
    "drunk": "drink", "ate": "eat", "eaten": "eat", "cut": "cut", "threw": "throw",
    "thrown": "throw", "caught": "catch", "gave": "give", "given": "give", "wore": "wear",
    "worn": "wear", "hung": "hang", "broke": "break", "broken": "break", "fell": "fall",
    "fallen": "fall", "sat": "sit", "lay": "lie", "lying": "lie", "wrote": "write",
    "written": "write", "drew": "draw", "drawn": "draw", "rode": "ride", "ridden": "ride",
    "drove": "drive", "driven": "drive", "put": "put", "set": "set", "read": "read",
    "left": "leave", "kept": "keep", "bought": "buy", "fed": "feed", "shown": "show",
    "saw": "see", "seen": "see", "went": "go", "gone": "go", "came": "come", "spoke": "speak",
    "stood": "stand", "shook": "shake", "shaken": "shake", "bit": "bite", "bitten": "bite",
    "dried": "dry", "tied": "tie", "untied": "untie", "spilt": "spill",
}  # fmt: skip

UNREAL = words(
    "not never no don't doesn't didn't won't can't cannot couldn't wouldn't shouldn't isn't"
    " aren't will would should could can may might must want wants wanted need needs going"
    " gonna try tries tried plan plans planned about let's if ask asks asked tell tells told"
    " pretend pretends think thinks thought suppose like likes wish hope i'll we'll you'll"
    " he'll she'll they'll forget forgets forgot instead"
)
"""Words before a verb after which the step is not stated as done."""

BESIDE = words(
    "on onto next near beside behind under at to toward towards by over above below around"
    " past for about like between against opposite"
)
"""Prepositions after which a thing is a place or a topic, not what is handled."""

CLAUSE_WORDS = words("while but as when before after because so where which that then")
DETERMINERS = words(
    "the a an my your his her its our their this that these those some another other one two"
    " three each both all"
)


def shown(label: str) -> str:
    """A detector's label as it is written in a description."""
    text = " ".join(label.replace("_", " ").split()).lower()
    return SHOWN.get(text, text)


def nouns(label: str) -> tuple[str, ...]:
    """The nouns, singular and plural, that name a shown label.

    Of a person the singular alone: `people` are never the one in view.
    """
    singular = NOUNS.get(label, (label,))
    if label == PERSON:
        return singular
    return tuple(dict.fromkeys([*singular, *(plural(noun) for noun in singular)]))


def plural(noun: str) -> str:
    """English plural of a noun or of the last word of a phrase."""
    head, _, last = noun.rpartition(" ")
    if last in PLURALS:
        last = PLURALS[last]
    elif last.endswith(("s", "x", "ch", "sh")):
        last += "es"
    elif last.endswith("y") and last[-2:-1] not in "aeiou":
        last = last[:-1] + "ies"
    else:
        last += "s"
    return f"{head} {last}" if head else last


def base_verb(word: str) -> str | None:
    """The known verb that a word is a form of, else None."""
    word = word.removesuffix("'s")
    if word in IRREGULAR:
        return IRREGULAR[word]
    if word in _VERBS:
        return word
    for ending, mends in _ENDINGS:
        if word.endswith(ending):
            stem = word[: -len(ending)]
            for mend in mends:
                if stem + mend in _VERBS:
                    return stem + mend
            if len(stem) > 2 and stem[-1] == stem[-2] and stem[:-1] in _VERBS:
                return stem[:-1]
    return None


_VERBS = HANDLING | LOOKING
_ENDINGS = (
    ("ies", ("y",)), ("ied", ("y",)), ("es", ("", "e")), ("s", ("",)), ("ing", ("", "e")),
    ("ed", ("", "e")),
)  # fmt: skip


def article(word: str) -> str:
    """`a` or `an`."""
    return "an" if word[:1].lower() in "aeiou" else "a"
