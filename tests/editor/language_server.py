"""A language server as an editor sees it: JSON messages over its stdin and stdout."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any


class LanguageServer:
    """One running server. Close it when done."""

    def __init__(self, command: list[str], folder: Path, settings: dict[str, Any]) -> None:
        self.settings = settings
        self.sent = 0
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=folder)
        self.ask("initialize", {"processId": None, "rootUri": folder.as_uri(), "capabilities": {}})
        self.say("initialized", {})

    def __enter__(self) -> LanguageServer:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.communicate()

    def say(self, method: str, params: Any) -> None:
        """Send a message that has no answer."""
        self.send({"method": method, "params": params})

    def ask(self, method: str, params: Any) -> Any:
        """Send a question; the answer."""
        self.sent += 1
        number = self.sent
        self.send({"id": number, "method": method, "params": params})
        return self.until(lambda message: message.get("id") == number and "method" not in message)["result"]

    def until(self, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """The next message that is wanted. What the server asks meanwhile is answered with the settings."""
        while True:
            message = self.receive()
            if wanted(message):
                return message
            if "id" in message and "method" in message:
                items = message.get("params", {}).get("items", [])
                self.send({"id": message["id"], "result": [self.settings.get(item["section"]) for item in items]})

    def open(self, file: Path) -> list[dict[str, Any]]:
        """Open a file; what the server finds wrong with it."""
        uri = file.as_uri()
        text = file.read_text(encoding="utf-8")
        document = {"uri": uri, "languageId": "yaml", "version": 1, "text": text}
        self.say("textDocument/didOpen", {"textDocument": document})
        found = self.until(
            lambda message: (
                message.get("method") == "textDocument/publishDiagnostics" and message["params"]["uri"] == uri
            )
        )
        diagnostics: list[dict[str, Any]] = found["params"]["diagnostics"]
        return diagnostics

    def completions(self, file: Path, line: int, column: int) -> set[str]:
        """What the server offers at a place; line and column count from 1."""
        place = {"line": line - 1, "character": column - 1}
        found = self.ask("textDocument/completion", {"textDocument": {"uri": file.as_uri()}, "position": place})
        return {item["label"] for item in (found["items"] if isinstance(found, dict) else found)}

    def hover(self, file: Path, line: int, column: int) -> str:
        """What the server says about what stands at a place."""
        place = {"line": line - 1, "character": column - 1}
        found = self.ask("textDocument/hover", {"textDocument": {"uri": file.as_uri()}, "position": place})
        return str(found["contents"]["value"]) if found else ""

    def send(self, message: dict[str, Any]) -> None:
        """One message, with its length before it."""
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self.process.stdin is not None
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        self.process.stdin.flush()

    def receive(self) -> dict[str, Any]:
        """The next message of the server's."""
        assert self.process.stdout is not None
        length = 0
        while line := self.process.stdout.readline().strip():
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        assert length, "the server went away"
        message: dict[str, Any] = json.loads(self.process.stdout.read(length))
        return message
