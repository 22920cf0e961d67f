"""What keeps a session's messages: this package, and what others publish for the same job, behind one contract.

`benchmarks.peers` measures them. Each store is a file of its own and imports what it measures when it is opened, so a
store whose package is missing can be named and says what to install. They run in `worker`, a process of its own, under
the interpreter that has the package: nothing here but `persistent` may import this project's package.
"""
