"""An answer that declines to sum up is told from a summary, whatever its language."""

import pytest

from amplifier_module_context_persistent.compaction.summary_refusals import is_refusal
from amplifier_module_context_persistent.compaction.summary_span import Span, why_no_summary

REFUSALS = [
    "I'm sorry, I can't help with that.",
    "I’m really sorry, but I can’t assist with that request.",
    "**Sorry** - I cannot do this.",
    "Unfortunately, I am not able to summarise this.",
    "I must decline.",
    "Es tut mir leid, dabei kann ich nicht helfen.",
    "Ich kann dir dabei leider nicht helfen.",
    "Das kann ich leider nicht zusammenfassen.",
    "Leider kann ich diese Anfrage nicht bearbeiten.",
    "Je suis désolé, mais je ne peux pas répondre à cette demande.",
    "Je ne peux pas vous aider.",
    "Lo siento, pero no puedo ayudar con eso.",
    "No puedo ayudarte con eso.",
    "Mi dispiace, non posso aiutarti.",
    "Desculpe, mas não posso ajudar com isso.",
    "Het spijt me, ik kan je daar niet mee helpen.",
    "Jag är ledsen, men jag kan inte hjälpa till med det.",
    "Beklager, jeg kan ikke hjelpe med det.",
    "Olen pahoillani, mutta en voi auttaa.",
    "Przykro mi, ale nie mogę w tym pomóc.",
    "Omlouvám se, ale s tím nemohu pomoci.",
    "Sajnálom, ebben nem tudok segíteni.",
    "Îmi pare rău, dar nu pot ajuta.",
    "Λυπάμαι, δεν μπορώ να βοηθήσω.",
    "Üzgünüm, bu konuda yardımcı olamam.",
    "Извините, я не могу с этим помочь.",
    "К сожалению, я не могу выполнить этот запрос.",
    "Вибачте, я не можу допомогти.",
    "מצטער, איני יכול לעזור בכך.",
    "عذرًا، لا أستطيع المساعدة في ذلك.",
    "متأسفم، نمی‌توانم کمک کنم.",
    "मुझे खेद है, मैं इसमें मदद नहीं कर सकता।",
    "Xin lỗi, tôi không thể giúp việc này.",
    "Maaf, saya tidak bisa membantu.",
    "ขออภัย ฉันไม่สามารถช่วยเรื่องนี้ได้",
    "很抱歉，我无法帮助您完成这个请求。",
    "對不起，我不能這樣做。",
    "申し訳ありませんが、そのご依頼にはお応えできません。",
    "죄송합니다. 그 요청은 도와드릴 수 없습니다.",
]

SUMMARIES = [
    "The user asked for a port; it cannot start before the sorry state of the tests is mended.",
    "I cannotes.py was renamed, and its tests pass.",
    "Der Nutzer wollte einen Umbau. Das Skript kann nicht starten, bis die Tests laufen.",
    "Ich habe die Dateien gelesen und den Fehler gefunden.",
    "Je résume : le module ne peut pas démarrer sans la base.",
    "El usuario pidió una migración; no se puede hacer sin la base.",
    "Пользователь попросил исправить сборку; тесты проходят.",
    "用户要求修复构建；服务器无法启动，因为缺少配置。",
    "ユーザーはビルドの修正を依頼した。テストは通る。",
    "사용자가 빌드를 고쳐 달라고 했다. 서버는 다시 시작할 수 없다.",
]


@pytest.mark.parametrize("text", REFUSALS)
def test_a_refusal_is_told_in_many_languages(text: str) -> None:
    assert is_refusal(text)
    assert not is_refusal(text + " but this is what happened." * 30)


@pytest.mark.parametrize("text", SUMMARIES)
def test_a_summary_is_none(text: str) -> None:
    assert not is_refusal(text)


def test_a_short_answer_needs_more_than_a_name_or_two() -> None:
    """A refusal in any other words may repeat what it was asked about; a summary tells several things."""
    names = frozenset(f"src/part_{number}.py" for number in range(40))
    span = Span(frozenset(), 0, [], with_tools=False, tokens=9, evidence=names, replaced_tokens=9_000)
    assert "fewer than 3" in why_no_summary("Asleu: src/part_1.py, src/part_2.py.", 20, span)
    assert why_no_summary("Read src/part_1.py and src/part_2.py; src/part_3.py fails.", 20, span) == ""
    assert why_no_summary("Read src/part_1.py. " + "It works as before. " * 40, 300, span) == ""
    few = Span(frozenset(), 0, [], with_tools=False, tokens=9, evidence=frozenset({"part_1.py"}), replaced_tokens=900)
    assert why_no_summary("They talked about the weather.", 9, few) == ""
