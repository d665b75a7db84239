# An MCP server on its standard input and output, with two tools that make a file in a folder, which
# is its argument: what was called is there. Another file tells that it was asked for its tools.
import json, pathlib, sys

folder = pathlib.Path(sys.argv[1])
schema = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
tools = [{"name": name, "description": f"{name} a note", "inputSchema": schema} for name in ("keep", "erase")]

for line in sys.stdin:
    message = json.loads(line)
    method, parameters = message.get("method"), message.get("params") or {}
    if "id" not in message:
        continue
    answer = {"jsonrpc": "2.0", "id": message["id"]}
    if method == "initialize":
        version = parameters["protocolVersion"]
        server = {"name": "notes", "version": "1"}
        answer["result"] = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": server}
    elif method == "tools/list":
        (folder / "listed").touch()
        answer["result"] = {"tools": tools}
    elif method == "tools/call":
        (folder / parameters["arguments"]["name"]).touch()
        answer["result"] = {"content": [{"type": "text", "text": "it is done"}]}
    elif method == "ping":
        answer["result"] = {}
    else:
        answer["error"] = {"code": -32601, "message": f"no {method}"}
    print(json.dumps(answer), flush=True)
