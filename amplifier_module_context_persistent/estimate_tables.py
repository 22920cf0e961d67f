"""The tables of the token estimate. Written by `benchmarks/fit_tokens.py`; do not edit."""

from typing import Final

ASCII: Final = (
    (
        "rdlgb8cihGP96qJPiQqoXCDCW28NxAp6Ycw1a3i0L7TqR0f3uEFmR2dHR0dHT09HISEhISEhISEhIUdCT2hHZ137+/b29vv7+/b7+/b2"
        "+/v7dvv29vv79vv7+09PR7e3R9XE1NTVxNTU1cTU1NTU1dSU1NTU1ZSUxNSUR213mHnNemmKSnvn3bPWFD2PVr/oeGkp16h86Rgp97xo"
        "g/UaQeMO4iOFM9ryQIzP3wCrpuMXlp+BJ39oXPr+KNpZzUF1MhQyNDs4NdwUzjACzm81NQgIv9AwNTEIMDU1MKHY0KQ1NTEyMDAwMDA0"
        "NDQ0MPEyMdFOo/8hSr3VlYzkeOVMMg==",
        "HIYzQCy2+FaWa6aa8+K55mf9+AcdWt9oFiSJQnnadUyf3z8kef9J6etuqQltb8Nf1iaGQ3aWRua28aZGuLbs5scsPNp8/ExsbLGsTGU8"
        "2GyrIe/AdUNOKN0oFXJ6aMav+CE4vfX1xWjFZBUF0ceVaLYnhYFxd3djytWsCGVap+PpbjyIkFpO6GDXI0e+dGEINiQ0InTyROLid65E"
        "+GTvVJGxgRVx8UHhwZahQWAx9lGVLDw6kZwMbJxVFww1aKSDNiAwU3T+QFBW6a1Ewo3aXoQgMFF+8EBd7catQAZtAl2bKzhQm/tLa8uj"
        "qEtZOw1rNyc6IXf3B1rnCBoH5ze5Wg==",
        "gY9vtq9fR6Afr7L/j5ChbyW05Zz1ZSUlBL/FzjVlJW+ufh+fTyDi705Fbi5OH+/VToMelK8/hY8ub87vPm4+zuqeq9+xwESrAa/Kvg4Z"
        "u28ChNojAiDkcC8PyP8K1xrP76MPEZ9hQy+uP6//+98/z4o/QP+BLmfub76O/w/YG8+dcE38nc1DHj3ube5+3b3OIr/ihfQfZV0vH///"
        "v3QizyXk5aIF8oV1In+F/gJlJc8xL1b2nlTC7sZa1v4/tOEEoZaRtVY5ZTFQr6aPPq2gb44fD/6uXiXuL7z+/16fDizhpOxSkZRpgc5O"
        "iv7zELFu94/HT8cuNe/PTx//j9XHbw==",
        "vsN5d4NfvzUWH5O+Q//z98/CdD9FXfGIpT2isi/v9fW+wBEFVl+0iCVPlZW8//raYsoUI0Ndby5uI6JiX//d/cHEehSDV78nAXWxt5/x"
        "0eqNaEN/Vl9TLdpfcaNd//rwt8FJH0Nf/4SBE2e+/////7vLEkMrXfiLD3Seomtq3v25zBGKQ13/KwUtprZ4//71wdVzn4xfsSJmX6Oy"
        "T/Pz/77BEitTVfaONh9juV/46/5lzBFdQVLxjpATpmya/+X/v8YXF0lf/4slg5mu7///77m4BV1FWrOAJpGcvF35///ExBGPAF3vgjJN"
        "oLI37/LWZcF6AkNfv49PSqqlY/rp7w==",
        "AwAAAAAAAA5kAAAABS4AAAAAAAAAACEARgAAIwAAAAgAWwsASgApFi0jAGQAMwATAEIZADwAAAAAAABMNA4AAEY7TAAEAAoAVxAARGQA"
        "PgADAjIXNAAELS8XCRAOABIAZBsxWmQAZBoqAAIVQBIKEgAAAAkAACIaAAAAAAwAABUAXAACAAQHRQsjABk4ABAAAGQAHC4ADicTAAAA"
        "AAEVDQBkADVkACQdABEAAAAVHQAXUglRZAA/LR4OKBMdDBoAZAxkZFFkZCpEZABQZF5kSjVEPzpDZGAuBFNkQVlkZFhkYy9kYV1kZCZV"
        "WGRkM2RVZFhjZEJkZFxkUWRkZEtKVw==",
    ),
    (1, 2, 3, 1),
    5,
)
"""Tables in base64, the distances of the layers, and how far before a byte the network looks."""

OTHER: Final = (
    (
        "6uoZo0+Li1YlFRXbEZgRSLi/b7zvz+Tw34s+LPeNnxpz+PX19vb49vX9dfV19nX1dfUF9RV1BXX1BXYY9fV1cwX48TX1Bf3x9Q11xQUF"
        "/f32/X0I9fX19TX28fUN9Qj1/R19fXQNE3QYGBMUzc3ICAjEGH0NCMjEAf0U9fT1BUuuDsA7j8AAwImLoDGCzotydIuPj4SgPz+BgImv"
        "jxmPKY+CggkqgkI+R6+vP4snSzuHgEqAiocKADe3oI6uK4NHZoVTY2Zj+D/3IFCPVmZz7SNDuGtzY5Njs+PjU/8FE3RT41xdY2NjY2Nj"
        "Y2NjY45W/OVbe28oF9D74kR5qYY4YA==",
        "XHIMImZif6kyUadv+XJfWm9vbSamZn9W5p2PffY2Da8DnUEuDW5vm4q9vgT1LwNN6XlqKppqN8pqmoq68NJaOa48kSLlYmLh4qjq6/os"
        "c6RwQNTfpLD/VbZAJPB6/yCw9YjVhYXFd5XB5ZWF0ZmVhbuGayzcbzy73Eu1u//chUu/vW8np2oybNeyrb/wNz1v05NeUNV/XxmQd9TF"
        "+PuBiGmCWSdZaTd62Wmpevk2qnnkaQ0jWWE3XYDtXevw6ITuVq9nIsxiMmfWbF8/8XJvZrjRA1G47svf9MbqQQZvSLJbBMTFZQTRfuiI"
        "DVhZZlPUMGp1JmJsbChiEG1l9nK5Uw==",
        "LyJoLoNPEG+/L29c4Z4cihofYxjO2hcWHy8vGkcXHherljbW9vvGBvdkhoc1hTeVz5kH24yuyTWOxtat55uMlS8vj7/eH8BvaC9vX+BP"
        "b5gOWVfTva8SVxOFV7zi01oXD78VHx+v9flvkYXfVX9vlc8UxBy/r8L5sCLC4OlvuKLPbFn7GWMSWlNQatri61CUL8JpkDw+Euq6KmqK"
        "5U/ski+USS3+rxSmHpe6HeWG7JrP/siTrq8Vbz4v/u3l37OVfu+1v7OuGT7TINue5o+Pli9ZSeoc7cd5esR56eXoGYUuZRJs864WWLNg"
        "uL3lLhGSKaXpF7fbp1mxEWkf5Ba51w==",
        "shBV5Flpp5iGHrQU1CTv+LO1O+Ojo6t7EDOzs+Dj8PPwBQCAfnCjo4PAALPVhdvwAZ45KFJpr0IRMbjIwd7t/aMfr+ZGqKWle0gftIAr"
        "7PIfcJHJZ0hDT5aWGMwRBuX9XIQ+/G+goKCcHAxwtgf88C+vkuEZTa2vlT4MwMHM6vW0WGXtZammqw0+tWzd1+n9119F662soKUqY/p7"
        "ttMl+hl/OSVNq6umwDmK4ynD5fpPqkDwrK+jqZA/u8XgiuD5zFBy4EaloquwMgPDKyDl8FGdqe5TqaCilEa/c87Y0vaadzrJT0ugRzeY"
        "BAASxdn9UlVNImx5rasAO7PLK+Ul6w==",
        "AyIKLgAAGwAAAAIAABAzKAsAAAABBwAAAAAZBREaAABkFwBhHAARGhoAUVtkZAAABwAAAAAAAAAAAA4AAAAAAAAAAAAAAAAAAAAAAAAK"
        "AAAAZAAAAAAAAAAAMwAAABsAAAAAACMANAAAAAUAAAAAAB4ACQEAACEADgAAAAAYGQAYAAA8WhcUAAAAMTMATQA1BwAAAAAAAA4AAAAA"
        "AAAAAAAAAAQAAAAAAAAAAAADAAAAABAkDwAGAAEADgsyVzEBNgMSZAAANgAAAB4bAGQAAGQgAGQGABsUBQBQZGRVVwBkSyBkTksAXC0a"
        "CTpkHCccWlRkZFBgNCA4TVhWYThJPw==",
    ),
    (1, 2, 3, 2),
    5,
)
"""Tables in base64, the distances of the layers, and how far before a byte the network looks."""
