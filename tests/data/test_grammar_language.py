"""The languages of the built-in corpus, by tables and rules that are written out here again."""

import re
from collections import Counter

import pytest
from data import grammar_corpus
from data.grammar_corpus import plain, plural, words

# Every word of the corpus that takes "an"; vowel letters that take "a" in spite of it.
AN_WORDS = set(
    "apple orange onion egg elephant umbrella eraser airplane actor engineer "
    "old empty expensive interesting honest".split()
)
A_IN_SPITE_OF_THE_LETTER = {"useful", "uniform", "university"}
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
    return grammar_corpus.pairs()


@pytest.fixture(scope="module")
def everything():
    return grammar_corpus.everything()


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
