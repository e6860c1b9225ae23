"""The built-in corpus, checked by tables and rules that are written out here again."""

import hashlib
import random
import re
import time
from collections import Counter

import pytest

from keras_transformer.data.grammar import grammar_pairs, splits
from keras_transformer.data.grammar.choices import Choices

SPLITS = ("train", "valid", "test")
SHOWN = {
    "这是一个苹果。": "This is an apple.",
    "她在吃一个绿苹果。": "She is eating a green apple.",
}
# Every word of the corpus that takes "an"; vowel letters that take "a" in spite of it.
AN_WORDS = set(
    "apple orange onion egg elephant umbrella eraser airplane actor engineer "
    "old empty expensive interesting honest".split()
)
A_IN_SPITE_OF_THE_LETTER = {"useful", "uniform", "university"}
IRREGULAR = {
    "mouse": "mice",
    "goose": "geese",
    "sheep": "sheep",
    "fish": "fish",
    "knife": "knives",
    "leaf": "leaves",
    "scarf": "scarves",
    "bookshelf": "bookshelves",
    "man": "men",
    "woman": "women",
    "child": "children",
    "tomato": "tomatoes",
    "potato": "potatoes",
    "strawberry": "strawberries",
    "dictionary": "dictionaries",
    "story": "stories",
    "university": "universities",
    "sandwich": "sandwiches",
    "box": "boxes",
    "watch": "watches",
    "bus": "buses",
}
ADJECTIVES = set(
    "red green blue white black yellow purple pink grey big small new old good long short "
    "beautiful cute clever cheap expensive useful interesting clean dirty heavy empty sweet "
    "fresh delicious hot cold young honest friendly famous".split()
)
NUMBERS = "two three four five six seven eight nine ten".split()
PAST = set(
    "ate drank read wrote drew washed bought sold repaired used looked watched listened drove rode "
    "fed moved made found saw slept ran swam sang danced worked studied cooked played gave".split()
)
MEASURES = {
    "个": "苹果 橙子 梨 西红柿 土豆 洋葱 鸡蛋 三明治 蛋糕 书架 杯子 碗 盘子 盒子 篮子 "
    "行李箱 书包 玩具 球 故事 学生 男孩 女孩 男人 女人 孩子",
    "只": "猫 鸟 羊 兔子 老鼠 鹅",
    "条": "狗 鱼 裙子 围巾",
    "匹": "马",
    "头": "大象",
    "件": "衬衫 毛衣 外套",
    "套": "制服",
    "顶": "帽子",
    "张": "桌子 床 沙发 地图",
    "把": "椅子 刀 雨伞 钥匙",
    "扇": "门 窗户",
    "本": "书 词典",
    "份": "报纸",
    "封": "信",
    "首": "歌",
    "部": "电影 手机",
    "支": "笔 铅笔",
    "块": "橡皮 手表",
    "台": "电脑",
    "朵": "花",
    "棵": "树",
    "片": "叶子 面包",
    "辆": "汽车 自行车 公共汽车 出租车",
    "架": "飞机",
    "栋": "房子",
    "所": "大学",
    "位": "老师 医生 护士 警察 演员 工程师 作家",
    "杯": "水 茶 咖啡 牛奶",
    "碗": "汤 米饭",
    "双": "鞋",
    "根": "香蕉",
    "颗": "草莓",
}


@pytest.fixture(scope="module")
def pairs():
    """The pairs of every split."""
    return {split: grammar_pairs(split) for split in SPLITS}


@pytest.fixture(scope="module")
def everything(pairs):
    """All pairs together."""
    return [pair for split in SPLITS for pair in pairs[split]]


def words(english):
    return re.findall(r"[A-Za-z']+", english)


def plain(chinese):
    return chinese.rstrip("。？")


def plural(noun):
    return IRREGULAR.get(noun, noun + "s")


def test_sizes_of_the_splits(pairs):
    assert 30_000 <= len(pairs["train"]) <= 60_000
    assert len(pairs["valid"]) == 500
    assert len(pairs["test"]) == 1_000


def test_sampling_again_gives_the_same_sentences_quickly_and_leaves_global_state_alone():
    state = random.getstate()
    start = time.process_time()
    again = splits.sampled_sentences.__wrapped__()
    assert time.process_time() - start < 2.0
    assert random.getstate() == state
    assert again == splits.sampled_sentences()


def test_corpus_is_the_same_on_every_machine(pairs):
    """The digest changes only when the grammar is changed on purpose."""
    digest = hashlib.sha256(repr([pairs[split] for split in SPLITS]).encode()).hexdigest()
    assert digest == "fde10209ca20e0f9f44b70fbf5e4278023c63c381b1374944242bb4e7c95f444"


def test_result_may_be_changed_without_changing_the_corpus():
    grammar_pairs("valid").clear()
    assert len(grammar_pairs("valid")) == 500


def test_unknown_split_is_refused_with_its_name():
    with pytest.raises(ValueError, match="'train', 'valid' or 'test', not 'dev'"):
        grammar_pairs("dev")


def test_no_sentence_is_doubled_in_either_language(everything):
    assert len({plain(zh) for zh, _ in everything}) == len(everything)
    assert len({en for _, en in everything}) == len(everything)


def test_grammar_is_one_to_one_beyond_the_sampled_sentences():
    choices = Choices(1)
    to_english, to_chinese = {}, {}
    for _ in range(60_000):
        new = splits.sentence(choices)
        assert to_english.setdefault(plain(new.zh), new.en) == new.en
        assert to_chinese.setdefault(new.en, new.zh) == new.zh
    assert len(to_english) > 40_000


def test_valid_and_test_hold_combinations_that_training_never_shows():
    seen = {
        split: {c for new in sentences for c in new.combinations}
        for split, sentences in splits.split_sentences().items()
    }
    held = splits.held_out()
    for split in ("valid", "test"):
        for new in splits.split_sentences()[split]:
            unseen = set(new.combinations) & set(held)
            assert {held[c] for c in unseen} == {split}, new
    assert not set(held) & seen["train"]
    assert not {c for c in seen["valid"] & seen["test"] if c in held}


def test_held_out_adjectives_never_stand_before_their_noun_in_training(pairs):
    """The same, found in the text instead of the grammar's own record."""
    shown = set()
    for _, en in pairs["train"]:
        tokens = words(en.lower())
        shown.update(zip(tokens, tokens[1:], strict=False))
    held = [(left, right) for kind, left, right in splits.held_out() if kind == "quality"]
    assert ("green", "apple") in held and len(held) > 30
    for adjective, noun in held:
        assert (adjective, noun) not in shown
        assert (adjective, plural(noun)) not in shown
    assert not any("绿苹果" in zh for zh, _ in pairs["train"])


def test_every_word_of_valid_and_test_is_common_in_training(pairs):
    english = Counter(word for _, en in pairs["train"] for word in words(en))
    chinese = Counter(character for zh, _ in pairs["train"] for character in zh)
    for split in ("valid", "test"):
        for zh, en in pairs[split]:
            assert min(english[word] for word in words(en)) >= 10, en
            assert min(chinese[character] for character in zh) >= 20, zh


def test_held_out_words_keep_their_role_in_training():
    """Each side of a held-out combination stands in the same relation with others in training."""
    roles = Counter(
        role
        for new in splits.split_sentences()["train"]
        for relation, left, right in new.combinations
        for role in ((relation, left, "left"), (relation, right, "right"))
    )
    for relation, left, right in splits.held_out():
        assert roles[relation, left, "left"] >= 10, (relation, left)
        assert roles[relation, right, "right"] >= 5, (relation, right)


class Guided(Choices):
    """Choices that prefer what the wanted Chinese sentence mentions: a search of the grammar."""

    def __init__(self, seed, wanted):
        super().__init__(seed)
        self.wanted = wanted

    def pick(self, options):
        def mentioned(option):
            return getattr(option, "zh", None) and option.zh in self.wanted

        return super().pick([option for option in options if mentioned(option)] or options)


@pytest.mark.parametrize("chinese", SHOWN)
def test_shown_sentence_is_within_reach_but_not_in_training(pairs, chinese):
    choices = Guided(0, chinese)
    tries = (splits.sentence(choices) for _ in range(50_000))
    found = next(new for new in tries if new.zh == chinese)
    assert found.en == SHOWN[chinese]
    assert set(found.combinations) & set(splits.held_out())
    assert plain(chinese) not in {plain(zh) for zh, _ in pairs["train"]}


def test_final_marks_match_and_some_training_pairs_lack_the_chinese_one(pairs, everything):
    for zh, en in everything:
        assert en[-1] in ".?" and not re.search(r"[.?]", en[:-1])
        assert not re.search(r"[。？]", zh[:-1])
        asks = re.search("吗|哪里|什么|谁|几", zh) is not None
        assert asks == (en[-1] == "?"), (zh, en)
        if zh[-1] in "。？":
            assert zh[-1] == {".": "。", "?": "？"}[en[-1]]
    bare = [zh for zh, _ in pairs["train"] if zh[-1] not in "。？"]
    assert 0.15 < len(bare) / len(pairs["train"]) < 0.25
    assert all(zh[-1] in "。？" for split in ("valid", "test") for zh, _ in pairs[split])


def test_english_is_cased_as_written_english(everything):
    names = {"I", "Tom", "Mary", "Anna", "Jack", "Peter", "Lily", "Sunday"}
    names |= {name + "'s" for name in names}
    for _, en in everything:
        first, *rest = words(en)
        assert first[0].isupper()
        assert all(word in names or word.islower() for word in rest), en
        assert "  " not in en and "_" not in en
        assert 3 <= len(rest) + 1 <= 14, en


def test_chinese_holds_nothing_but_chinese(everything):
    assert all(re.fullmatch(r"[\u4e00-\u9fff]+[。？]?", zh) for zh, _ in everything)


def test_a_or_an_goes_by_the_sound(everything):
    after = {"a": set(), "an": set()}
    for _, en in everything:
        for article, word in re.findall(r"\b(an?) (\w+)", en.lower()):
            after[article].add(word)
    assert after["an"] == AN_WORDS
    assert {word for word in after["a"] if word[0] in "aeiou"} == A_IN_SPITE_OF_THE_LETTER


def test_noun_is_singular_after_an_article_and_plural_after_a_number(everything):
    after_article, after_number = set(), set()
    adjectives = f"(?:(?:{'|'.join(ADJECTIVES)}) )*"
    article = re.compile(rf"\ban? {adjectives}(?:police )?(\w+)")
    number = re.compile(rf"\b(?:{'|'.join(NUMBERS)}|how many|are no) {adjectives}(?:police )?(\w+)")
    for _, en in everything:
        after_article.update(article.findall(en.lower()))
        after_number.update(number.findall(en.lower()))
    assert len(after_number) > 70
    assert after_number <= {plural(noun) for noun in after_article}
    assert not after_number & (after_article - {"sheep", "fish"})


def test_verbs_agree_with_their_subjects(everything):
    third = "he|she|it|this|that"
    wrong = re.compile(
        rf"^({third}) (am|are|have|do)\b|^(we|you|they|these|those) (am|is|has|does)\b"
        rf"|^i (is|are|has|does)\b|^(am|are|do) ({third})\b(?! \w+s\b)"
        r"|^(am|is|does) (we|you|they|these|those)\b|^(is|are|does) i\b"
        r"|\bthere is (two|three|four|five|six|seven|eight|nine|ten|many)\b|\bthere are an? "
    )
    for _, en in everything:
        assert not wrong.search(en.lower()), en


def test_present_tense_ends_in_s_for_he_she_and_it_alone(everything):
    kinds = Counter()
    for _, en in everything:
        first, second = words(en)[:2]
        if first in ("He", "She", "It"):
            assert second.endswith("s") or second in PAST | {"did", "can", "cannot"}, en
            kinds["third"] += 1
        elif first in ("I", "We", "They") or (first == "You" and en[-1] == "."):
            assert not second.endswith("s"), en
            kinds["other"] += 1
    assert min(kinds.values()) > 1_000


def test_number_of_the_verb_after_plural_and_singular_nouns(everything):
    be = re.compile(r"^(this|that|these|those) (?:\w+ )?(\w+) (is|are)\b")
    seen = Counter()
    for _, en in everything:
        found = be.match(en.lower())
        if found and found[2] not in ("shoes",):  # this pair of shoes is
            assert (found[3] == "are") == (found[1] in ("these", "those")), en
            seen[found[3]] += 1
    assert min(seen["is"], seen["are"]) > 300


def test_do_and_did_take_the_base_form(everything):
    bases = set(
        "eat drink read write draw wash buy sell repair use look watch listen drive ride feed "
        "move make find see sleep run swim sing dance work study cook play like want "
        "need know have".split()
    )
    for _, en in everything:
        for base in re.findall(r"\b(?:do|does|did) not (\w+)", en):
            assert base in bases | {"open", "close"}, en
        if en.startswith(("Do ", "Does ", "Did ")):
            assert bases & set(words(en)), en
            assert not PAST - {"read"} & set(words(en)), en


def test_measure_words_suit_their_nouns(everything):
    wanted = {noun: measure for measure, nouns in MEASURES.items() for noun in nouns.split()}
    longest_first = "|".join(sorted(wanted, key=len, reverse=True))
    counted = re.compile(rf"[一两三四五六七八九十几](\w)({longest_first})")
    seen = set()
    for zh, _ in everything:
        for measure, noun in counted.findall(zh):
            assert measure == wanted[noun], zh
            seen.add(noun)
        assert "二" not in zh
    assert seen == set(wanted), set(wanted) - seen


def test_time_and_place_come_before_the_verb_in_chinese_and_last_in_english(everything):
    times = {"昨天晚上": "last night", "昨天": "yesterday", "明天": "tomorrow", "每天": "every day"}
    seen = Counter()
    for zh, en in everything:
        for chinese, english in times.items():
            if re.search(chinese + "(?!早上|晚上)", zh):
                assert en[:-1].endswith(english), (zh, en)
                assert not plain(zh).endswith(chinese), zh
                seen[chinese] += 1
    assert min(seen[time] for time in times) > 100


def test_modifying_place_comes_before_the_noun_in_chinese_and_after_it_in_english(everything):
    turned = [(zh, en) for zh, en in everything if "桌子上的" in zh]
    assert len(turned) > 50
    assert all(" on the table" in en and not en.startswith("On") for _, en in turned)


def test_pronouns_of_three_genders_are_told_apart(everything):
    for zh, en in everything:
        tokens = set(words(en.lower()))
        assert ("她" in zh) == bool(tokens & {"she", "her", "hers"}), (zh, en)
        assert ("他们" in zh) == bool(tokens & {"they", "them", "their", "theirs"}), (zh, en)
        assert bool(re.search("他(?!们)", zh)) == bool(tokens & {"he", "him", "his"}), (zh, en)
        assert ("它" in zh) == ("it" in tokens), (zh, en)
