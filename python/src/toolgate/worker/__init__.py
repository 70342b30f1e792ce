"""The worker: serves handlers over standard input and output, as an MCP server of either era.

Files, in the order in which a call passes through them: `__main__` (start), `streams` (the protocol's two pipes), `crew`
(the threads that read and run plain handlers), `server` (what a message means), `call` (one call from request to
answer), `loop` (async handlers), `questions` (elicitation).
"""
