"""Clauses of the built-in grammar about what people and animals do."""

from __future__ import annotations

from keras_transformer.data.grammar.choices import Choices
from keras_transformer.data.grammar.clauses import Sentence, question, statement
from keras_transformer.data.grammar.function_words import (
    BE,
    DAILY,
    DO,
    FUTURE,
    NAMES,
    PAST,
    PLURAL,
    PRONOUNS,
    THIRD,
)
from keras_transformer.data.grammar.lexicon import Noun, nouns
from keras_transformer.data.grammar.phrases import (
    ANIMAL_LANDMARKS,
    COUNTED,
    DEFINITE,
    IT,
    OBJECT,
    ONE_OBJECT,
    PEOPLE,
    PETS,
    TOPIC,
    Phrase,
    described,
    kin,
    subject,
    thing,
)
from keras_transformer.data.grammar.verbs import (
    ACTIONS,
    ACTIVITIES,
    DEALINGS,
    OPENING,
    WEARING,
    Verb,
)

NOW = tuple(verb for verb in ACTIONS if "now" in verb.uses)
EVERY_DAY = tuple(verb for verb in ACTIONS if "daily" in verb.uses)
SKILLS = ACTIVITIES[2:5] + ACTIVITIES[7:]  # what one can or cannot do
ANIMALS = nouns("animal,beast")
EAT = ACTIONS[0]


def act(choices: Choices, verb: Verb, determiners: tuple[str, ...] = OBJECT) -> Phrase:
    """An object of the verb, with the combination of the two."""
    noun = choices.pick(verb.objects)
    if determiners is OBJECT and "many" not in verb.uses:
        determiners = ONE_OBJECT
    what = thing(choices, noun, determiners)
    return what._replace(combinations=what.combinations + (pair(verb, noun),))


def pair(verb: Verb, noun: Noun) -> tuple[str, str, str]:
    """The combination of an action and its object."""
    return ("action", verb.base, noun.singular)


def somewhere(choices: Choices, verb: Verb, probability: float) -> tuple[str, str, tuple]:
    """Where it is done, at times: "在公园里", " in the park", and the combination."""
    if not verb.places or not choices.chance(probability):
        return "", "", ()
    place = choices.pick(verb.places)
    return f"在{place.zh}", f" {place.english}", (("place", verb.base, place.english),)


def finite(verb: Verb, who: Phrase) -> str:
    """The verb's present form that agrees with its subject."""
    return verb.third if who.agreement == THIRD else verb.base


def asked_or_denied(choices: Choices) -> str:
    """The kind of a sentence: a statement mostly."""
    return choices.pick(("stated", "stated", "stated", "asked", "denied"))


def progressive(choices: Choices) -> Sentence:
    """She is eating a green apple (in the park). He is not using my pen. What are you reading?"""
    verb = choices.pick(NOW)
    kind = choices.pick(("stated",) * 6 + ("asked", "asked", "denied", "what", "who"))
    who = subject(choices, asked=kind == "asked" or kind == "what")
    if verb is EAT and choices.chance(0.15):
        who = IT if choices.chance(0.4) else thing(choices, choices.pick(ANIMALS), TOPIC)
    be = BE[who.agreement]
    if kind == "what":
        zh, en = f"{who.zh}在{verb.zh}什么", f"what {be} {who.en} {verb.participle}"
        return question(zh, en, who.combinations)
    what = act(choices, verb, OBJECT if kind in ("stated", "asked") else DEFINITE)
    combinations = who.combinations + what.combinations
    doing = f"{verb.participle} {what.en}"
    if kind == "who":
        return question(f"谁在{verb.zh}{what.zh}", f"who is {doing}", what.combinations)
    if kind == "denied":
        zh, en = f"{who.zh}没在{verb.zh}{what.zh}", f"{who.en} {be} not {doing}"
        return statement(zh, en, combinations)
    there_zh, there_en, there = somewhere(choices, verb, 0.3 if who.zh != "它" else 0.0)
    zh = f"{who.zh}{'正' + there_zh if there_zh else '在'}{verb.zh}{what.zh}"
    combinations += there
    if kind == "asked":
        return question(f"{zh}吗", f"{be} {who.en} {doing}{there_en}", combinations)
    return statement(zh, f"{who.en} {be} {doing}{there_en}", combinations)


def activity(choices: Choices) -> Sentence:
    """Tom is running (in the park). Can you swim? Who is singing?"""
    kind = choices.pick(("now", "now", "now", "skill", "skill", "who"))
    verb = choices.pick(SKILLS if kind == "skill" else ACTIVITIES)
    if kind == "who":
        there_zh, there_en, there = somewhere(choices, verb, 0.7)
        zh = f"谁{'正' + there_zh if there_zh else '在'}{verb.zh}"
        return question(zh, f"who is {verb.participle}{there_en}", there)
    mode = asked_or_denied(choices)
    who = subject(choices, asked=mode == "asked")
    if kind == "skill":
        if mode == "asked":
            return question(f"{who.zh}会{verb.zh}吗", f"can {who.en} {verb.base}", who.combinations)
        can_zh, can_en = ("不会", "cannot") if mode == "denied" else ("会", "can")
        return statement(
            f"{who.zh}{can_zh}{verb.zh}", f"{who.en} {can_en} {verb.base}", who.combinations
        )
    be = BE[who.agreement]
    if mode == "denied":
        zh, en = f"{who.zh}没在{verb.zh}", f"{who.en} {be} not {verb.participle}"
        return statement(zh, en, who.combinations)
    there_zh, there_en, there = somewhere(choices, verb, 0.7)
    zh = f"{who.zh}{'正' + there_zh if there_zh else '在'}{verb.zh}"
    combinations = who.combinations + there
    if mode == "asked":
        return question(f"{zh}吗", f"{be} {who.en} {verb.participle}{there_en}", combinations)
    return statement(zh, f"{who.en} {be} {verb.participle}{there_en}", combinations)


def habit(choices: Choices) -> Sentence:
    """He drinks a cup of tea (in the office) every day. She runs in the park every Sunday."""
    time = choices.pick(DAILY)
    asked = choices.chance(0.2)
    who = subject(choices, asked)
    if choices.chance(0.4):
        verb = choices.pick(ACTIVITIES[1:])
        what_zh, what_en, combinations = "", "", who.combinations
        there_zh, there_en, there = somewhere(choices, verb, 1.0)
    else:
        verb = choices.pick(EVERY_DAY)
        what = act(choices, verb, COUNTED)
        what_zh, what_en = what.zh, " " + what.en
        combinations = who.combinations + what.combinations
        there_zh, there_en, there = somewhere(choices, verb, 0.3)
    zh = f"{who.zh}{time.zh}{there_zh}{verb.zh}{what_zh}"
    tail = f"{what_en}{there_en} {time.en}"
    if asked:
        en = f"{DO[who.agreement]} {who.en} {verb.base}{tail}"
        return question(f"{zh}吗", en, combinations + there)
    return statement(zh, f"{who.en} {finite(verb, who)}{tail}", combinations + there)


def past(choices: Choices) -> Sentence:
    """She bought three apples (at the market) yesterday. Did you see that bird this morning?"""
    time = choices.pick(PAST)
    mode = asked_or_denied(choices)
    who = subject(choices, asked=mode == "asked")
    if mode != "denied" and choices.chance(0.2):
        verb = choices.pick(ACTIVITIES)
        what_zh, what_en, combinations = "了", "", who.combinations
        there_zh, there_en, there = somewhere(choices, verb, 1.0)
    else:
        verb = choices.pick(ACTIONS)
        what = act(choices, verb, DEFINITE if mode == "denied" else OBJECT)
        what_zh, what_en = ("" if mode == "denied" else "了") + what.zh, " " + what.en
        combinations = who.combinations + what.combinations
        there_zh, there_en, there = somewhere(choices, verb, 0.0 if mode == "denied" else 0.3)
    tail = f"{what_en}{there_en} {time.en}"
    combinations += there
    if mode == "denied":
        zh = f"{who.zh}{time.zh}没有{verb.zh}{what_zh}"
        return statement(zh, f"{who.en} did not {verb.base}{tail}", combinations)
    zh = f"{who.zh}{time.zh}{there_zh}{verb.zh}{what_zh}"
    if mode == "asked":
        return question(f"{zh}吗", f"did {who.en} {verb.base}{tail}", combinations)
    return statement(zh, f"{who.en} {verb.past}{tail}", combinations)


def future(choices: Choices) -> Sentence:
    """I am going to buy a new coat (at the market) tomorrow. Is he going to work tonight?"""
    time = choices.pick(FUTURE)
    asked = choices.chance(0.25)
    who = subject(choices, asked)
    verb = choices.pick(NOW)
    what = act(choices, verb)
    there_zh, there_en, there = somewhere(choices, verb, 0.25)
    combinations = who.combinations + what.combinations + there
    zh = f"{who.zh}{time.zh}要{there_zh}{verb.zh}{what.zh}"
    en = f"going to {verb.base} {what.en}{there_en} {time.en}"
    be = BE[who.agreement]
    if asked:
        return question(f"{zh}吗", f"{be} {who.en} {en}", combinations)
    return statement(zh, f"{who.en} {be} {en}", combinations)


def person(choices: Choices, other: Phrase, determiners: tuple[str, ...]) -> Phrase:
    """Somebody as an object, who is not the subject again."""
    kind = choices.pick(("pronoun", "name", "kin", "noun"))
    if kind == "pronoun":
        pronoun = choices.pick([p for p in PRONOUNS if p.zh[0] != other.zh[0]])
        return Phrase(pronoun.zh, pronoun.object)
    if kind == "name":
        return Phrase(*choices.pick([name for name in NAMES if name.zh not in other.zh]))
    if kind == "kin":
        relative = kin(choices)
        while relative.zh[-2:] == other.zh[-2:] or relative.zh[:2] == other.zh[:2]:
            relative = kin(choices)
        return relative
    return thing(choices, choices.pick(PEOPLE), determiners)


def dealing(choices: Choices) -> Sentence:
    """The nurse is helping my mother (at the hospital). Tom is waiting for us."""
    verb = choices.pick(DEALINGS)
    who = subject(choices)
    whom = person(choices, who, ("a", "number", "this", "that", "those"))
    there_zh, there_en, there = somewhere(choices, verb, 0.4)
    combinations = who.combinations + whom.combinations + there
    zh = f"{who.zh}{'正' + there_zh if there_zh else '在'}{verb.zh}{whom.zh}"
    be = BE[who.agreement]
    doing = f"{verb.participle} {whom.en}{there_en}"
    if who.zh[0] != "我" and choices.chance(0.2):
        return question(f"{zh}吗", f"{be} {who.en} {doing}", combinations)
    return statement(zh, f"{who.en} {be} {doing}", combinations)


def wear(choices: Choices) -> Sentence:
    """She is wearing a red hat. Is Tom wearing a uniform?"""
    verb = choices.pick(WEARING)
    asked = choices.chance(0.2)
    who = subject(choices, asked)
    while who.agreement == PLURAL and who.en != "you":  # several people do not share a hat
        who = subject(choices, asked)
    what = act(choices, verb, ONE_OBJECT)
    combinations = who.combinations + what.combinations
    be = BE[who.agreement]
    if asked:
        zh, en = f"{who.zh}{verb.zh}{what.zh}吗", f"{be} {who.en} {verb.participle} {what.en}"
        return question(zh, en, combinations)
    zh, en = f"{who.zh}{verb.zh}{what.zh}", f"{who.en} {be} {verb.participle} {what.en}"
    return statement(zh, en, combinations)


def request(choices: Choices) -> Sentence:
    """Please open the door. Please do not close the window."""
    verb = choices.pick(OPENING)
    noun = choices.pick(verb.objects)
    zh, en, combinations = described(choices, noun, 0.4, short=True)
    combinations += (pair(verb, noun),)
    zh, en = f"{verb.zh}{zh}{noun.zh}", f"{verb.base} the {en}{noun.singular}"
    if choices.chance(0.3):
        return statement(f"请不要{zh}", f"please do not {en}", combinations)
    return statement(f"请{zh}", f"please {en}", combinations)


def nap(choices: Choices) -> Sentence:
    """The white cat is sleeping under the chair. It is sleeping on the bed."""
    landmark = choices.pick(ANIMAL_LANDMARKS)
    side = choices.pick(landmark.sides)
    noun = choices.pick(PETS)
    if choices.chance(0.1):
        who, there = IT, ()
    else:
        who, there = (
            thing(choices, noun, TOPIC),
            (("location", landmark.en, noun.singular),),
        )
    zh = f"{who.zh}正在{landmark.zh}{side.zh}睡觉"
    be, place = BE[who.agreement], f"sleeping {side.en} the {landmark.en}"
    combinations = who.combinations + there
    if choices.chance(0.2):
        return question(f"{zh}吗", f"{be} {who.en} {place}", combinations)
    return statement(zh, f"{who.en} {be} {place}", combinations)
