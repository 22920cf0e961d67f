"""Texts of many kinds, with their true numbers of tokens of `o200k_base`."""

# ruff: noqa: E501, RUF001 (texts in other scripts, and lines as tools print them)

from __future__ import annotations

import base64
import hashlib
import json


def digest(seed: str, length: int) -> str:
    return "".join(hashlib.sha256(f"{seed}{part}".encode()).hexdigest() for part in range(-(-length // 64)))[:length]


def log_lines() -> str:
    lines = []
    for n in range(16):
        d = digest(f"log{n}", 64)
        lines += [
            f"2026-03-{n + 1:02}T0{n % 10}:14:{n + 20}.{int(d[:3], 16) % 1000:03}Z INFO worker[{int(d[:4], 16)}] pulled "
            f"registry.internal/app/web@sha256:{d} in {n}.{d[0]}4s",
            f"[2026-03-{n + 1:02} 10:0{n % 10}:31,{int(d[3:6], 16) % 1000:03}] ERROR /srv/app/releases/{d[:12]}/lib/python3.12/"
            f"site-packages/app/jobs/runner.py:{n * 37}: request {d[:8]}-{d[8:12]}-4{d[12:15]}-a{d[15:18]}-{d[18:30]} failed",
        ]
    return "\n".join(lines)


def json_rows() -> str:
    rows = [
        {
            "path": f"src/components/{name}/index.ts",
            "sha": digest(name, 40),
            "size": len(name) * 731,
            "mode": "100644",
            "modified": f"2026-0{1 + n % 9}-1{n % 10}T08:3{n % 6}:00Z",
            "owner": {"login": "build-bot", "id": 4000 + n},
            "executable": n % 3 == 0,
            "parent": None,
        }
        for n, name in enumerate(("button", "dialog", "table", "calendar", "upload", "tooltip", "menu", "tabs"))
    ]
    return json.dumps({"status": "ok", "items": rows}, indent=2)


def base64_text() -> str:
    return base64.b64encode(b"".join(hashlib.sha256(bytes([n])).digest() for n in range(40))).decode()


PROSE = """\
The harbour had been quiet since the ferry stopped running. In the mornings an old man walked his dog along the wall,
and in the evenings the same man walked back without it, because the dog preferred to wait for him at the bakery.
Nobody in the village thought this strange. They had long agreed that a place with so few people must allow each of
them a habit or two, and they kept to the agreement more faithfully than to any law. When the first engineers arrived
to measure the depth of the water, they were offered coffee, shown the way to the only room with a heater, and asked
politely whether the new bridge would make a noise. It would not, the engineers said, or hardly any. The villagers
nodded, and went home, and began to worry. What they were afraid of was not the noise itself but the question of who
would come across the bridge once it stood there, and whether such people could be expected to understand about the dog.
"""


PYTHON = '''\
class RetryPolicy:
    """Decide how long to wait before the next attempt."""

    def __init__(self, base_delay: float = 0.1, max_delay: float = 30.0, max_attempts: int = 8) -> None:
        if base_delay <= 0 or max_delay < base_delay:
            raise ValueError(f"delays must be positive and ordered: {base_delay!r}, {max_delay!r}")
        self.base_delay = base_delay
        self.max_delay = max_delay
        self.max_attempts = max_attempts
        self._random = random.Random()

    def delays(self) -> Iterator[float]:
        for attempt in range(self.max_attempts):
            ceiling = min(self.max_delay, self.base_delay * 2**attempt)
            yield self._random.uniform(0, ceiling)

    async def call(self, func, *args, **kwargs):
        last_error = None
        for delay in self.delays():
            try:
                return await func(*args, **kwargs)
            except (ConnectionError, TimeoutError) as exc:
                last_error = exc
                logger.warning("attempt failed, retrying in %.2fs: %s", delay, exc)
                await asyncio.sleep(delay)
        raise RuntimeError("all attempts failed") from last_error
'''


MARKDOWN = """\
# Storage adapter

A small library that keeps **append-only** event streams in a directory. See the [design notes](docs/design.md).

## Installation

```bash
pip install storage-adapter
storage-adapter init ./data --retention 30d
```

## Usage

1. Open a stream with `open_stream("orders")`.
2. Append events; each call returns the *offset* of the event.
3. Read from any offset:

```python
with open_stream("orders") as stream:
    for event in stream.read(from_offset=120):
        print(event.kind, event.payload)
```

| Option        | Default | Meaning                            |
|---------------|---------|------------------------------------|
| `retention`   | `30d`   | how long closed segments are kept  |
| `segment_mb`  | `64`    | size at which a segment is closed  |
| `fsync`       | `true`  | wait for the disk before returning |

> **Note**: compaction never touches the open segment.

- [x] readers survive a rotated segment
- [ ] compression of closed segments (#42)
"""


CHINESE = """\
港口自从渡轮停运以后就一直很安静。每天早晨，一位老人牵着狗沿着堤岸散步；到了傍晚，他又独自一人走回来，因为那只狗更愿意在面包店门口等他。
村里没有人觉得奇怪。大家早就同意，在一个人口这么少的地方，应该允许每个人保留一两个习惯，而且他们遵守这个约定比遵守任何法律都要认真。
当第一批工程师来测量水深的时候，村民请他们喝咖啡，带他们去唯一有暖气的房间，并且很客气地问新桥会不会产生噪音。工程师说不会，或者几乎不会。
系统在启动时会读取配置文件，并检查数据库连接是否可用。如果连接失败，程序会等待几秒钟后重试，最多重试五次。用户可以在设置页面修改超时时间和日志级别。
"""


JAPANESE = """\
フェリーの運航が止まってから、港はずっと静かだった。朝になると老人が犬を連れて堤防を歩き、夕方には一人で戻ってくる。犬はパン屋の前で待つほうが好きだったからだ。
村の人たちは誰もそれを不思議だとは思わなかった。これほど人の少ない場所では、一つや二つの習慣は許されるべきだと、ずっと前から決めていたのである。
設定ファイルを読み込んだあと、データベースへの接続を確認します。接続に失敗した場合は数秒待ってから再試行し、最大で五回まで繰り返します。
ユーザーは設定画面でタイムアウトの時間とログのレベルを変更できます。変更した内容は次回の起動時から有効になります。
"""


KOREAN = """\
여객선 운항이 멈춘 뒤로 항구는 줄곧 조용했다. 아침이면 한 노인이 개를 데리고 방파제를 따라 걸었고, 저녁이면 혼자 돌아왔다. 개는 빵집 앞에서 기다리는 것을 더 좋아했기 때문이다.
마을 사람들은 아무도 그것을 이상하게 여기지 않았다. 사람이 이렇게 적은 곳에서는 습관 한두 가지쯤은 허락되어야 한다고 오래전부터 생각해 왔다.
프로그램은 시작할 때 설정 파일을 읽고 데이터베이스 연결을 확인합니다. 연결에 실패하면 몇 초 기다린 다음 최대 다섯 번까지 다시 시도합니다.
사용자는 설정 화면에서 제한 시간과 로그 수준을 변경할 수 있습니다. 변경한 내용은 다음에 시작할 때부터 적용됩니다.
"""


ARABIC = """\
كان الميناء هادئا منذ توقفت العبارة عن العمل. في كل صباح كان رجل عجوز يمشي مع كلبه على طول السور، وفي المساء يعود وحده لأن الكلب كان يفضل أن ينتظره أمام المخبز.
لم يجد أحد في القرية هذا الأمر غريبا. فقد اتفقوا منذ زمن طويل على أن مكانا بهذا العدد القليل من الناس يجب أن يسمح لكل واحد منهم بعادة أو عادتين.
يقرأ البرنامج ملف الإعدادات عند التشغيل ويتحقق من الاتصال بقاعدة البيانات. إذا فشل الاتصال ينتظر البرنامج بضع ثوان ثم يحاول مرة أخرى، حتى خمس مرات.
يستطيع المستخدم تغيير المهلة ومستوى السجل من صفحة الإعدادات، وتصبح التغييرات سارية عند التشغيل التالي.
"""


RUSSIAN = """\
С тех пор как паром перестал ходить, в гавани было тихо. По утрам старик гулял с собакой вдоль стены, а вечером возвращался один, потому что собака предпочитала ждать его у булочной.
Никто в деревне не находил это странным. Там давно решили, что в месте, где так мало людей, каждому нужно позволить одну или две привычки, и соблюдали это правило строже любого закона.
При запуске программа читает файл настроек и проверяет соединение с базой данных. Если соединение не удалось, она ждёт несколько секунд и повторяет попытку, но не более пяти раз.
Пользователь может изменить время ожидания и уровень журнала на странице настроек. Изменения вступают в силу при следующем запуске.
"""


EMOJI = (
    "🎉 done! 🚀🚀 ✅ tests ✅ lint ❌ docs 🐛🔧 👍🏽 ❤️ 😀😂🤔😭 🇩🇪🇯🇵 👩‍💻 ⚠️ 📦📝 🔥🔥🔥 💡 ⏳ 🎯 🙌 🌍🏆 🔴🟡🟢 ➡️ 🧪 🦊🦄🐙 🥑🍕☕ "
    * 6
)


# The true counts are those of tiktoken 0.14 with the published vocabulary of o200k_base. The texts were written or are
# generated here and were not used for the fit.
TEXTS = {
    "prose": (PROSE, 202),
    "python": (PYTHON, 277),
    "json": (json_rows(), 934),
    "logs": (log_lines(), 2299),
    "markdown": (MARKDOWN, 239),
    "chinese": (CHINESE, 214),
    "japanese": (JAPANESE, 205),
    "korean": (KOREAN, 175),
    "arabic": (ARABIC, 162),
    "russian": (RUSSIAN, 169),
    "emoji": (EMOJI, 571),
    "base64": (base64_text(), 1174),
}


SHORT = {
    "Please fix the failing test.": 6,
    "ok": 1,
    "git status": 2,
    "Thanks, that works now!": 6,
    "def main() -> None:": 6,
    "/usr/lib/python3.12/json/decoder.py": 10,
    "请帮我看一下这个错误。": 8,
    "Спасибо, всё работает.": 5,
    "3.14159": 4,
}
