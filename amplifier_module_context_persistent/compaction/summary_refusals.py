"""Refusals: recognise an answer that declines to do what was asked, in the languages that most sessions are held in.

Only the beginning of a short answer is checked, because models decline there. A refusal in another language, or one
that begins with other words, is recognised by the names of the conversation that it lacks (`summary_span`).
"""

from __future__ import annotations

import re

MOST_REFUSAL_CHARS = 600  # a longer answer that begins like a refusal contains something useful

_BEGINNINGS = {
    "English": (
        r"(?:i['’]m|i am)? ?(?:so |very |really )?sorry\b",
        r"(?:i|we) (?:apologi[sz]e|can(?:no|['’])?t|won['’]t|must decline|do not feel|don['’]t feel)\b",
        r"(?:i['’]m|i am) (?:unable|not able|afraid)\b",
        r"(?:my )?apologies\b|as an ai\b|unfortunately,? i\b",
    ),
    "German": (
        r"(?:es )?tut mir (?:sehr )?leid\b|entschuldigung\b|verzeihung\b|ich bedau[e]?re\b|leider (?:kann|darf) ich\b",
        r"ich (?:kann|darf|möchte) (?:\w+ ){0,3}?(?:leider |nicht\b|keine?\b)|(?:das|dabei) kann ich (?:leider )?nicht\b",
        r"ich bin (?:leider )?nicht in der lage\b",
    ),
    "French": (
        r"(?:je suis )?(?:vraiment )?désolée?\b|je (?:ne|n['’]) ?(?:peux|suis pas|puis|saurais)\b",
        r"malheureusement,? je\b|je regrette\b|je m['’]excuse\b",
    ),
    "Spanish": (
        r"lo siento\b|lo lamento\b|lamento\b|no (?:puedo|me es posible)\b|lamentablemente,? no\b|disculp[ae]\b",
    ),
    "Italian": (r"mi dispiace\b|sono spiacente\b|purtroppo,? non\b|non (?:posso|sono in grado)\b|mi scuso\b",),
    "Portuguese": (r"(?:me )?desculp[ae]\b|sinto muito\b|lamento\b|não (?:posso|consigo)\b|infelizmente,? não\b",),
    "Dutch": (r"het spijt me\b|ik kan (?:\w+ ){0,3}?(?:niet|geen)\b|helaas kan ik\b",),
    "Swedish, Danish, Norwegian": (
        r"(?:jag |jeg )?(?:är |er )?(?:ledsen|beklager)\b|tyvärr\b|desværre\b|dessverre\b|förlåt\b|undskyld\b",
        r"(?:jag|jeg) kan (?:\w+ ){0,2}?(?:inte|ikke)\b",
    ),
    "Finnish": (r"olen pahoillani\b|valitettavasti\b|pahoittelen\b|en voi\b",),
    "Polish": (r"przykro mi\b|przepraszam\b|niestety,? nie\b|nie mogę\b",),
    "Czech": (r"(?:je mi líto|omlouvám se|bohužel)\b|nemohu\b",),
    "Hungarian": (r"sajnálom\b|sajnos\b|elnézést\b|nem tudok\b",),
    "Romanian": (r"îmi pare rău\b|din păcate\b|nu pot\b",),
    "Greek": (r"λυπάμαι\b|συγγνώμη\b|δυστυχώς\b|δεν μπορώ\b",),
    "Turkish": (r"üzgünüm\b|maalesef\b|özür dilerim\b",),
    "Russian, Ukrainian": (
        r"(?:мне (?:очень )?жаль|извините|простите|прошу прощения|к сожалению|я не могу|не могу)\b",
        r"(?:мені (?:дуже )?шкода|вибачте|перепрошую|на жаль|я не можу|не можу)\b",
    ),
    "Hebrew": (r"(?:אני )?מצטער(?:ת)?\b|סליחה\b|לצערי\b|אני לא יכול(?:ה)?\b",),
    "Arabic": (r"(?:أنا )?(?:آسف|اسف|عذرًا|عذراً|عذرا|أعتذر|للأسف)|لا (?:أستطيع|يمكنني)",),
    "Persian": (r"متأسفم|متاسفم|ببخشید|متأسفانه|متاسفانه|نمی‌توانم",),
    "Hindi": (r"(?:मुझे )?(?:क्षमा|माफ़|माफ|खेद)|मैं .{0,40}(?:नहीं कर सक|असमर्थ)",),
    "Vietnamese": (r"(?:tôi )?(?:rất )?(?:xin lỗi|rất tiếc)\b|tôi không thể\b",),
    "Indonesian, Malay": (r"(?:mohon )?maaf\b|saya (?:tidak (?:bisa|dapat)|minta maaf)\b",),
    "Thai": (r"(?:ฉัน|ผม|ดิฉัน)?(?:ขอโทษ|ขออภัย|เสียใจ|ไม่สามารถ)",),
    "Chinese": (r"(?:非常|很|真的?)?(?:抱歉|对不起|對不起|不好意思)|(?:很)?遗憾|我(?:无法|無法|不能|没办法|沒辦法)",),
    "Japanese": (r"(?:大変|誠に)?(?:申し訳|すみません|すいません|ごめんなさい|恐れ入りますが|残念ながら)",),
    "Korean": (r"(?:정말 )?(?:죄송|미안|유감)|(?:저는 )?(?:이|그|해당)?.{0,3}(?:요청|도와|도움).{0,20}수 없",),
}
"""The patterns with which a refusal begins, by language."""

_REFUSAL = re.compile(r"[\W_]*(?:" + "|".join(p for some in _BEGINNINGS.values() for p in some) + ")", re.IGNORECASE)


def is_refusal(text: str) -> bool:
    """Return whether a text is short and begins like a refusal."""
    return len(text) <= MOST_REFUSAL_CHARS and _REFUSAL.match(text) is not None
