"""The tables of the token estimate. Written by `benchmarks/fit_tokens.py`; do not edit."""

from typing import Final

ASCII: Final = (
    (
        "rdlgb8cihIP97KJPEqqoXCDCW28NxAp6Ycw1a3i0L7TqJy8nKScpLy8vvyevJS+/cXFxcXFxcXFxcSciJye/J0FMSEhITEhISExISEhM"
        "SExMSEhMTEhISEhISC8iL7kvL93Gw9bTw9bT3cbG1NTT3dbG1NbU3cSU1pbGv0kvx3nNemmKSnvn3bPWFD2PVr/oeGkp16h86Rgp97xo"
        "g/UaQeMO4iOFM9ryQIzP3wCrpuMXlp+BJ39oXPr+KNpZzUF1MhSS1JTU29wazgACU2+bmwMDFdA9CAkBm5ubm6HY0KR6m5SVm5ubm5ub"
        "m5ubm6aSm9FOo/8hSr3VlYzkeOVMMg==",
        "HCaG9gZWllbWthaaxua5Vmc6+Bb2wtxoFiSqSHnadUzIvAfvP2/vfN8HFy8//8Ns3SXTQ6vGOT3W9tr6uMzsIxq9jf1NHU193Y2t/T39"
        "2F2r/3jAlN3/9bYoFj56/8YRAXJ1vcpMd5PBZEdS0ZmVXlIliUVJqUV52VXDRZn1p1nrbjyIQVpO6GDXmUe+dGGnaLaGQOSUQnbedhbm"
        "PuDvVq6xAUFBUUFRkeGhQZHh9nH7vA/vQYHff5xsr4c3/6RvZrKO8kpeSnTSbh5KMvraXri+jvBAXkB03n4e8D7wSF6suwj7+3v7azsL"
        "qOvL+w1rmgSMIaPPfJsACG0T57S5cw==",
        "jOg+9YR+Rf+urx6vnX0+3RPFI7x1fwPjpa8TH2OT02P+b56yYgJDr19SPy9v/95/ym+Sn+x/RS8/PoIvbltb3ktvm36kf0Nfjz/8L2//"
        "2N+Kk4ftoX/z0f/dGh9qt9gRj2UPrHx+SNePP98vYp9f1k5WbD6mfwFRj28dLyGcTbaOaN6woX9I3l9df6/ef3c/+9x2fwN+Q32afvIv"
        "r1uB3RO0Q7njfxPYo50THyERsbP/r4/RjxHTTz+T/y8PPw/fwbwksON/09y+4CEv2FhT5oJvP12Ef7Pf/z+PL99Xd87Kb/J/E35D3v8/"
        "Cy8uT9HOyG+Yf6V+0/+PPxkvb/9T3g==",
        "/y+1M2wnMbFkugy6yeTj49xXcDCUk6K7XJx1qc700ODvb7o8UCwLtlRor67I+OrgPCPBa7snLgFnob0L2vft5uBejjNUJGAFFptzvgXp"
        "5eSyU8U1pVh2uWWopa/V8+jjQFdJPJ1RScEWpqe00vfi7d9vyD2lbXUBpbWzuwj46OggJwMQmDqTA22tQ7bE3+jqIC8MNJ8ncbGWi3O7"
        "wPzl7IgygTSilqiHVUSuq9jz6OcsX6c8HliMslwiZ6bYAezsDF9SPGw8nIYdm0+mz9/f74ggtTOaX4yxZJigidn66eMsJHs8GCFLR5xQ"
        "pISzy8XoIF/HG08jcAebS6q72/zp5w==",
        "Sl8eS2ADZD80QWJkADpkXAAAPxQJAAAuAAIDHwAACwMzAAAGBxo0CRsMEQAACTwAAAwYAAIAGAUADhgaABAAAAAAKQYnAAdPAAAvSgAA"
        "NwAAAA4EAAAAAAABAAgAAEAAACocHwAdAAAcCgYAAAsJAAIYECkVAAAUGgBUHgMKNQkAAAoHOQAALgAHIQAABw5LAFAAAA4HBwAnNgE9"
        "AAAwAAAIAQkAZBAmAABkEgAATTUDDjErMyEYVigAVU0CA0kEZABZLQ1ATFAqOyhkOiBkZGReZFRkQlNgAFdkZGQBP1hZZERIZGRkXGRk"
        "ZGRUZF5bZGRYZEZEZGQrZGRkZFVkNQ==",
    ),
    (1, 2, 3, 1),
    5,
)
"""Tables in base64, the distances of the layers, and how far before a byte the network looks."""

OTHER: Final = (
    (
        "6uoZo0+Li/0lNeXb1Q8RSLi/b7zvz+Tw34s+LPeNnxoTGjWKhTjEMOU4NTUVMDg1MDU1NYXFNYqlyjUVNeU1PeQ9MTUwhISINY7lNQU4"
        "AD867sQ4NYWEAM2AMOU26MjlNQGhGBSINgiENoOh6Ajt6obE6MgRjQ3OgDioNeXINUsOiwvvq84ODj8ADqXpwAngGQIAMonrgu7vCwAr"
        "MM8AecIiAMqionKuAAJycj8AdKCNBIoACj0EoHuAywnJCwOgZoVjk1OTkz9fIHOPWWa9QS1Ba2tomJFWvU1YMf8FE3RWJvqWU1NTU1NT"
        "kyNTU/tmvOVbe28oF9D74kR5qYY4YA==",
        "dnNP+q9PB/Qff39Pyr+/LyPTqvMDR/No03+DqabTdroV8USYFUix4EqsFQXL2FS7c3F/9nZGtz1GyE/vwrYaQVtLwl6sDNbBYltwpWVU"
        "PA3Q/9TU1AT/9bbQ3pB6LtCgTnJOTT58d5PBfk610VWVXuFz4fpRRwfDlmFR6cwK6QGqcWP6oU956KZJilfMAV+JtJOSkiXMXxmQTBuQ"
        "+JwUIBcDufq6QQdkUeeqF8qxF7fMecy9POuNxU8+FRU1yNjLcwF/+QlJ8eMfb4l6JA96f2/RA0m4gRPf9MbqQQZvSLJ2d7n2yUcnPkbX"
        "oTefJicJ7gQQIaN3fJsANW1i57TObg==",
        "fkSt145rY5rMM5U8a50v5H9IDhp9nqNnzcUFPc0eLzWeQB7kro6kVMsEtN59nS9Hbm/PEq+uYo0sLiweLJ0vJX+azxKvr6P3r8Ozry+P"
        "L6edeq4Wf1yqlo7EAh0uji/Cfg8P1X8teZKrzw8ff+4vD78yz9CvrlXlboKFvi5vL+XNw6+Urq6SWorCkK9vry+DC3o91wgQ47jACNjY"
        "hZAh05+KzhdPjaJUnaLQiI2NL+O/QE6ani5kQ8baQb6vmi/nfkNvEqwdt+KOwyEejZ5/RY7T3BKOkeMzSDY2KcseL/Z+L68QXq95ec8p"
        "X49/jy8PHIpj6vaCulTyOhQY2scjug==",
        "VSpjgS9XCxkNo43Ic9zn81iFLGgoE5shkL8ovL+83PBKLmOKGkqHIyWjI/Tq9uP6D1NdCI2DlhgNxi23y9rl9UdyLFhcaBUlmJorwtHR"
        "4fWPNWUeLzMOKAOVLMPJ2eD+HIdlGSUXiSB9Ci+V1+Tk+S6WhVUlczMmOUou6uXV5fUtHiUjIyMjLgGFI5Nz6uTwLC4lHCUzjCwHjiXP"
        "y9Th/hoOZFQuY5Qgn5YlztPu9/NRdCwQLyMDIGF6KL7F6eX0IxMkIyMjkyNjIy+2wabv840AKA0XBJ0gC7oruMjL0vFPmSxQEhGbLJur"
        "LMLC3uLwQAwsZyMnRSyUkSbAuNXZ5g==",
        "ABQXAAAAAAAGEwAqAAAAAAAAFQAAABUAAAAAAAABAAAAAAMAAAAAAAAABgAAAAAAAAAoABcAADkQBxIAAAAAMwAEAAAAAEwAAAAAAAAA"
        "AAIAAAALAAAAAAAAACUAAAAMAAARAAAACgMAAQAAAAAAAFkAAD0AAGQACwAKCQAABwUACwAAAAAqAgMAAAAAAAIZH0AAAAAAZAAAZAAA"
        "AAAFH2AuAF5kEj03TRFcZAAAAiEAWiEiGgAHAAA+AAAAAAAAABE5MhIVThIGAAAbAEcZAAg9JWQ6HwAACiAAEwAAHwAyJCtSZBACISgA"
        "ZGQRMks+ZGRkYmJkQWRjZGRkZFpiAA==",
    ),
    (1, 2, 3, 2),
    5,
)
"""Tables in base64, the distances of the layers, and how far before a byte the network looks."""
