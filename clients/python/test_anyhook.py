"""Tests of the Python client against the program that ANYHOOK_BIN names, in a home of its own."""

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
import threading
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from unittest import mock

from anyhook import Anyhook, AnyhookError, Reply, Verdict, before_tool

HERE = Path(__file__).parent
# Each is what a hook does with a command that contains its name.
HOOKS = {
    "deny": "echo 'not here' >&2; exit 2",
    "change": """echo '{"modified_input": {"command": "echo changed"}, "additional_context": "so"}'""",
    "slow": "sleep 4",
    "kill": 'kill -9 "$PPID"; exit 0',
}


class ClientTest(unittest.TestCase):
    def setUp(self) -> None:
        home = tempfile.TemporaryDirectory()
        self.addCleanup(home.cleanup)
        for name, script in HOOKS.items():
            folder = Path(home.name, ".config/agents/hooks", name)
            (folder / "scripts").mkdir(parents=True)
            matter = f"name: {name}\ndescription: d\ntrigger: before_tool\non_failure: block\ntimeout: 600000"
            (folder / "HOOK.md").write_text(f"---\n{matter}\nmatcher:\n  pattern: {name}\n---\n")
            (folder / "scripts/run").write_text(f"#!/bin/sh\n{script}\n")
            (folder / "scripts/run").chmod(0o755)
        self.home = home.name
        changed = mock.patch.dict(os.environ, {"HOME": home.name})
        changed.start()
        self.addCleanup(changed.stop)

    def shell(self, command: str) -> "dict[str, object]":
        return before_tool("Shell", {"command": command}, work_dir=self.home)

    def test_verdicts(self) -> None:
        with Anyhook() as hooks:
            self.assertEqual(hooks.decide(self.shell("ls")), Verdict())
            denied = hooks.decide(self.shell("deny"))
            self.assertTrue(denied.blocked)
            self.assertEqual((denied.decision, denied.reason), ("deny", "not here"))
            self.assertIsNotNone(denied.id)
            changed = hooks.decide(self.shell("change ü"))
            self.assertFalse(changed.blocked)
            self.assertEqual(changed.modified_input, {"command": "echo changed"})
            self.assertEqual(changed.additional_context, "so")

    def test_many_threads_share_one(self) -> None:
        with Anyhook() as hooks, ThreadPoolExecutor(16) as pool:
            commands = ["deny", "ls"] * 50
            verdicts = list(pool.map(lambda command: hooks.decide(self.shell(command)), commands))
            self.assertEqual([one.blocked for one in verdicts], [True, False] * 50)

    def test_asyncio(self) -> None:
        async def ask(hooks: Anyhook) -> "list[Verdict]":
            return await asyncio.gather(*(hooks.decide_async(self.shell(one)) for one in ["ls", "deny"]))

        with Anyhook() as hooks:
            self.assertEqual([one.blocked for one in asyncio.run(ask(hooks))], [False, True])

    def test_a_hook_that_is_not_done_in_time_has_failed(self) -> None:
        with Anyhook() as hooks:
            self.assertTrue(hooks.decide(self.shell("slow"), timeout=0.2).blocked)

    def test_payloads_of_agents(self) -> None:
        payload = {"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "ls"}}
        with Anyhook() as hooks:
            self.assertEqual(hooks.forward("claude-code", payload), Reply(0, "", ""))
            with self.assertRaises(AnyhookError) as caught:
                hooks.forward("emacs", "{}")
            self.assertEqual(caught.exception.code, "unknown_host")

    def test_what_is_no_event_is_an_error(self) -> None:
        with Anyhook() as hooks:
            for event, code in [({}, "not_an_event"), ({"event_type": float("nan")}, "not_json")]:
                with self.assertRaises(AnyhookError) as caught:
                    hooks.decide(event)
                self.assertEqual(caught.exception.code, code)
            self.assertEqual(hooks.decide(self.shell("ls")), Verdict())

    def test_without_anyhook(self) -> None:
        event = self.shell("ls")
        with self.assertRaises(AnyhookError) as caught:
            Anyhook("/no/such/anyhook").decide(event)
        self.assertEqual(caught.exception.code, "not_found")
        self.assertTrue(Anyhook("/no/such/anyhook", on_error="block").decide(event).blocked)
        allowed = Anyhook("/no/such/anyhook", on_error="allow").decide(event)
        self.assertIsNone(allowed.decision)
        self.assertIn("there is no", allowed.messages[0])
        with self.assertRaises(AnyhookError) as caught:
            Anyhook("true").decide(event)
        self.assertEqual(caught.exception.code, "protocol")
        with self.assertRaises(ValueError):
            Anyhook(on_error="perhaps")

    def test_a_process_that_died_is_started_again_once(self) -> None:
        with Anyhook() as hooks:
            hooks.decide(self.shell("ls"))
            assert hooks._process is not None
            hooks._process.child.send_signal(signal.SIGKILL)
            self.assertTrue(hooks.decide(self.shell("deny")).blocked)
            with self.assertRaises(AnyhookError) as caught:
                hooks.decide(self.shell("kill"))
            self.assertEqual(caught.exception.code, "died")
            self.assertEqual(hooks.decide(self.shell("ls")), Verdict())

    def test_closing_answers_what_is_in_flight_and_one_may_go_on(self) -> None:
        hooks = Anyhook()
        threads = [threading.Thread(target=hooks.decide, args=[self.shell("ls")]) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        hooks.close()
        hooks.close()
        self.assertTrue(hooks.decide(self.shell("deny")).blocked)
        hooks.close()

    def test_example(self) -> None:
        commands = ["echo one", "echo deny", "echo change"]
        program = [sys.executable, "-B", str(HERE / "example.py"), *commands]
        ran = subprocess.run(program, capture_output=True, text=True)
        self.assertEqual(sorted(ran.stdout.splitlines()), ["blocked: not here", "changed", "one"], ran.stderr)


if __name__ == "__main__":
    unittest.main()
