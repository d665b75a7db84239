"""The official Python SDK as a client of `anyhook mcp`: each way to begin, and every tool.

Arguments: the program, how to begin (as the SDK names it), the version that must come of it, and
the id of a record of the journal.
"""

import asyncio
import os
import sys

from mcp import Client, MCPError, StdioServerParameters

READS = {
    "list_agents", "show_agent", "list_decisions", "show_decision", "search_journal",
    "show_record", "hooks_in_force", "list_pipelines", "stats",
}


async def main(program, mode, version, record):
    # The variables of this process are those of the test.
    server = StdioServerParameters(command=program, args=["mcp"], env=dict(os.environ))
    async with Client(server, mode=mode, read_timeout_seconds=120) as client:
        assert client.protocol_version == version, client.protocol_version
        if mode != version:
            # Whoever begins with a version has asked for neither.
            assert client.server_info.name == "anyhook", client.server_info
            assert "none changes anything" in client.instructions, client.instructions

        tools = (await client.list_tools()).tools
        assert {tool.name for tool in tools} == READS, tools
        assert all(tool.annotations.read_only_hint for tool in tools), tools

        # The SDK checks structured results by the schemas of the list.
        found = await client.call_tool("search_journal", {"tool": "Shell"})
        assert not found.is_error, found
        assert found.structured_content["records"][0]["id"] == record, found
        assert record in found.content[0].text, found
        for tool, arguments in [
            ("show_record", {"record": record}), ("hooks_in_force", {}), ("stats", {}),
        ]:
            result = await client.call_tool(tool, arguments)
            assert not result.is_error and result.structured_content, result

        missing = await client.call_tool("list_decisions", {})
        assert missing.is_error, missing
        assert "the daemon is not running" in missing.content[0].text, missing
        try:
            await client.call_tool("resolve_decision", {"id": "x", "choice": "allow"})
        except MCPError as error:
            assert error.code == -32602 and "Unknown tool" in error.message, error
        else:
            raise AssertionError("there is a tool that answers")
        several = [client.call_tool("search_journal", {"limit": 1}) for _ in range(20)]
        for result in await asyncio.gather(*several):
            assert len(result.structured_content["records"]) == 1, result
    print("all well")


asyncio.run(main(*sys.argv[1:]))
