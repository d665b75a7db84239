# An MCP server for tests: the first argument says how it behaves at the start, the second where it
# notes its process and that of its child. Its tools misbehave in calls.
import json, os, subprocess, sys, time

mode, pid_file = sys.argv[1:3]
sleeper = subprocess.Popen(["sleep", "1000"])
with open(pid_file, "a") as file:
    file.write(f"{os.getpid()} {sleeper.pid}\n")

def send(message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()

def raw(text):
    sys.stdout.write(text + "\n")
    sys.stdout.flush()

def tool(name, **properties):
    schema = {"type": "object", "properties": properties}
    return {"name": name, "description": f"does {name}", "inputSchema": schema}

FIRST = [tool("echo", text={"type": "string"}), tool("add"), tool("fail"), tool("refuse")]
SECOND = [tool("slow"), tool("die"), tool("garbage"), tool("huge"), tool("with.dots"), tool("where")]

def text(*texts, **more):
    return {"content": [{"type": "text", "text": text} for text in texts], **more}

def call(name, arguments):
    if name == "echo":
        return text("you said", arguments["text"])
    if name == "add":
        return text('{"sum": 5}', structuredContent={"sum": 5})
    if name == "fail":
        return text("no such city", isError=True)
    if name == "slow":
        time.sleep(60)
    if name == "die":
        sys.stderr.write("out of memory\n")
        sys.exit(3)
    if name == "huge":
        return text("x" * 20_000_000)
    if name == "where":
        return text(os.getcwd(), os.environ.get("TOKEN", ""))
    return text(name)

raw("starting up: a line that is no message")
for line in sys.stdin:
    message = json.loads(line)
    method, id = message.get("method"), message.get("id")
    if id is None or method is None:
        continue
    if method == "initialize":
        if mode == "silent":
            continue
        if mode == "dead":
            sys.stderr.write("no configuration\n")
            sys.exit(1)
        if mode == "garbage":
            raw("{]" * 100)
            continue
        info = {"name": "tester", "version": "1"}
        version = "2025-06-18"
        capabilities = {"tools": {}}
        send({"id": id, "result": {"protocolVersion": version, "capabilities": capabilities, "serverInfo": info}})
    elif method == "tools/list":
        if mode == "unlisted":
            send({"id": id, "error": {"code": -32603, "message": "the list is lost"}})
        elif message.get("params", {}).get("cursor") == "more":
            send({"id": id, "result": {"tools": SECOND}})
        else:
            send({"id": id, "result": {"tools": FIRST, "nextCursor": "more"}})
    elif method == "tools/call":
        name = message["params"]["name"]
        if name == "refuse":
            send({"id": id, "error": {"code": -32602, "message": "not like that"}})
        elif name == "garbage":
            raw("{]" * 100)
            raw('{"jsonrpc": "2.0", "id": [], "result": 5}')
        else:
            send({"id": id, "result": call(name, message["params"].get("arguments", {}))})
    elif method == "ping":
        send({"id": id, "result": {}})
