"""The tables of the token estimate. Written by `benchmarks/fit_tokens.py`; do not edit."""

from typing import Final

ASCII: Final = (
    (
        "rdlgb8cihIP9XqJPI6KoXCDCW28NxAp6Ycw1a3i0L7TqvyzPxiFtLLEvISyvfy+/7u7u7u7u7u7u7iwiL2gvonIbGxsbGxsbGxt7HRsb"
        "GxsbfRsbGxsdGx0bfSy8LCwhLNNUVNTTU9TU01Td1NTU09RU1NTU01RUVNRdfLK/1XnNemmKSnvn3bPWFD2PVr/oeGkp16h86Rgp97xo"
        "g/UaQeMO4iOFM9ryQIzP3wCrpuMXlp+BJ39oXPr+KNpZzUF1MhQyND02M9w5zgACWW8zkwgIv9BOMD2TkzM7M6HY0KR6Mz2SMDMzMDQw"
        "PT00MPEyNtFOo/8hSr3VlYzkeOVMMg==",
        "HKrm+izp+PQKa6qaWuYGZiSg75//6A9obySvP18PLx/IbOWc/HNp4NlupUxsSSzZCmrqmgpqOj1m8apG2joq2iFLzNqsotbBYrEvTWXq"
        "2C3Fru6U9N1E9VYorUJUAiJUAd/vn5/u1ZPDZKpL39MpaHPZd5e3Z9nD3NXDN2e3LNfrbjyIQVpO6GDXmUe+dGGnOta6mkp+phlWdxpK"
        "auoq1kERgZHxYXFkQUChQWEBIVGMaeWVtQXlxTVVp0lvuSHXZteJk5O9A+Oj6adDaUcvV5Ct7p7+XD7f3XKtTl0OIF1La+ubm3s4Pkuj"
        "qEtrCyvbmgSMIaPPfJsACG0T57S5cw==",
        "Ck8MXwwPA07+f6PenmgKbB1bM+c115PJnjdD3pclF9Tv7w8vP6/GT/CfkyDvLw8Pml8NvmyP406OL0bff/sM2gl+CsdqrwPcLw6j3g5T"
        "aWvjVITHa/QTdv6Jo943qEt87ZgNtn5aU/z/2qTfN65eng5G/8E/j9XN/x9zj5+x31+dFd3NrU+zj/9PiN9v/W1/5E85zpmOU0/+fqPe"
        "b2OYPoXlhcOT0zOT9jNDXpND03PqrDL+LJ5jrn7epJ7ueUtuhX8lw8O9D5P9FjPeE0Ijc92UjUR9VsO3Tzvo7ptvnXyuRB4sHt8TDv7+"
        "U95uTm4O4k8Kr1qO026vfqjen2NbPg==",
        "yORdSzYVXC82YMZmx9Li7MgVRUtGuV2QRiJmorCi4uSzRK0VSUUaGYqGt5rR1ePzyE9mT45kUZA/K8arztLi7JhIAEQQERpVOSayotH8"
        "7OzIBKBEHxUzUzGGt6/H2uPsyKZgTxYVXIs2h76vx+Th7MjyEBOZNlpVh4a5r87q9Oq4RkVLQ0UblT4ru5Df/ODsyNNuRB9GOlAyi7kv"
        "wtDr7MjtDERLTDx1EaJpbsHs7+wRRZAcK0YIlHQrvC/e9u/ly0QFHxjDWjWHI4JXrdX+9cgubUMZQDppNJu5JMfS6fzIRBVFQUVcmz+J"
        "sIzPzOvsmEUAFxWdWnN7MG6C8+z/5A==",
        "AA8QAxAAABpkMwMtSj0AUgAEAQMYCgAAbCkAAAcAAAApCAgABgAPBCMSAAoAPCQKEwAEAAAALhFtDwEBAhMaBBgMFgAAAAQTEwADAAAA"
        "DQAGAAEACQAQNVwAAAEAAC0APUIqADIAUysXAwUvGEcsNU8AAAACAAAAAAAAChJECgAVAAAAAAARBj4BAQIGMgAAAAAXBAUQWRsADiIJ"
        "CxccHRsHDAAFNwoAASkOAgs2KAdpPkAhH3NvSQAJAEIFVBMccD1TZBthbjQBVgBmEGFBTm88YQBDQltQW2AiVTMlRhhnW1tbTWlbc2hn"
        "XFxhSVtcgH1WXGVyXlxPa01zYisxYA==",
    ),
    (1, 2, 3, 1),
    5,
)
"""Tables in base64, the distances of the layers, and how far before a byte the network looks."""

OTHER: Final = (
    (
        "6uoZo0+Li/0lwsLb1hMRSLi/b7zvz+Tw34s+LPeNnxqD7sII2MfiwsLPwgLozuLCAoLi4uLi7OLi4u3twgLCx+LY7cICwgcP0g0LywLi"
        "0sfigufI0sIfBMjYwgKCz+TCws3oBI/H6Ojt7QXPxOQEzsQY5+gIxwfvAsff4t8CwksNMModr36vrqmgr8sbyauOAKGiwAEwKYAPoK4g"
        "0MDQeaCioNChwiIuDqIwIhCucg4NCtogrS2urnvuqQsLqQMaZoX381NTRz/5IHOP82bzRSNDuGu6Y1VTs0OzQ/8FE3RTSFxTU2NjU2Nj"
        "Y5NjY45mvOVbe28oF9D74kR5qYY4YA==",
        "A9vjmyOcX/a2C9NL7FPbc0O735yjvN/679vrG+JPS3r1xeWZp+XfrboFrgWieTUIp/7nnNrv3/lX16fH6VdnNw5I6cSsotbBYlSliWVe"
        "tY0QHoQClN3/9bZwIFB6KEDYgAAoWMpMd5PBWIIo0SCCAmdnZ5ck5u8PN2enZ6hza8c1XOEhIXGqkyG8tv+qf/8/AECiItV+XxmQxPIH"
        "+NIyovsL65xfu76h/9EL+637++u+Yr06wwWNxU/Irfg1tI64DxPmk9OW3zPTezvb6rNT09sL65ymD7/z7FvrO6JP4/tsvuGRMxZXczFv"
        "rw/qo38/3d20YKPPfJsANTVw5z453Q==",
        "z0GegS0MoRaffMEICs3Ngb1HbxwdECnrY9vOOxuerIQCCbTiQKWZAaMJaenpuzDlrkddET1N9eav/aESRP7e9X5Hn6Qv+yXIrr1bywSN"
        "PmXPQQ0k/kwHZi4MVQUGjGwlXkifHE+PEg8vb8wvn5/PvG5Bnhk97KX0DxyJ4tSOLNT+QY4ZjQwVqt68lApKjI2E2+c79zm2saeqpQe3"
        "d4E0J21HnxcujhmWL41hhmaDjflvR40Xbg0V2G9uwfmnrQ1nD+JPgk//8v8fjmjy82yOHH/hnxIv/hmPLy6Y59tfPvTP4Z8SL285kn+u"
        "gvLx/2+Cz0afGT0OJoMv7cW3if7e8Q==",
        "Aq4GY3+qKoQCLFFNv8Ls8s6JjhOgrAmODSJZbt3t4/2IhHMYoEqghlCoX2XW5eXyiiWHGH2CaoclqVk+XRUZ6MogpsWvrAuGASBsZ1Sy"
        "1P2NiVm1dn82jWmD/vV11eX1lYM9lQ2HdoPFImCVxRX19eWKRpcAbzmKUo5StcAQ5/c1InOdBYOjjX2lQ0MT4/P1hYU1FWWNOKljg/Ll"
        "s+L19ZWID9agKDmIyoJORdQU7v6diqDff49ziqOKSXbQFu//ioJVlWKiboNYTcPlEhnl+Y+iCLpOr2SKsqRdur+Z5edXLiTBJixmhC8n"
        "UUG83B/2xYiNmzKJpYhNjk1Jw9vu+w==",
        "AAAAAAAAAAAAABMNAAAAEzoAAAAyMx4cAAATADUKCScAJgAAAAAAAAAAAAAAAAANAAgAAAAAAAAABQAAAAABDg0AGxwAAC8GAQAAAAAA"
        "BQAwHwAAAAAAdAAAABUAAAAAAAAAAAAAAAwBAAAAAAAAAAAAAAAAAQAAAQAATQAKAAEAAAAIAAADAAAAAAAAAgAAMwAuVQAAVQAAAAAA"
        "HxsANwAtAAAAABIAAAAAAAAAAAAATgAAIAAANAAAAAAAQwAAFgAAAAAAKxwAAAAOWVgISw4dAAAAADodAD8AACtaBwBQK11xPoRWOXZy"
        "ITEVUk4GQ1hydmZeXzxugUWMW2R0Rw==",
    ),
    (1, 2, 3, 2),
    5,
)
"""Tables in base64, the distances of the layers, and how far before a byte the network looks."""
