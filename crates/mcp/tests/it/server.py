# An MCP server for tests on its standard input and output. The first argument says how it behaves
# at the start, the second where it notes its process and those it has started. Its tools misbehave
# in calls. Its documentation tools are those of a context7 server; the topic may say which other tool
# it is to misbehave as. Calls are noted beside the processes.
import json, os, re, subprocess, sys, time

mode, pid_file = sys.argv[1:3]
# One that holds our output open when we are gone, unless that is what we are to close.
child = subprocess.Popen(["sleep", "1000"], stdout=subprocess.DEVNULL if mode == "closes" else None)
# One that leaves the group and the pipes, as a daemon does.
away = subprocess.Popen(["setsid", "sleep", "1000"], stdin=subprocess.DEVNULL,
                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
with open(pid_file, "a") as file:
    file.write(f"{os.getpid()} {child.pid} {away.pid}\n")

def raw(text):
    sys.stdout.write(text)
    sys.stdout.flush()

def send(message):
    raw(json.dumps({"jsonrpc": "2.0", **message}) + "\n")

def tool(name, *required, **properties):
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return {"name": name, "description": f"does {name}", "inputSchema": schema}

TEXT = {"type": "string"}
FIRST = [tool("echo", "text", text=TEXT), tool("add"), tool("fail"), tool("refuse"), tool("where")]
SECOND = [tool(name) for name in ["slow", "die", "garbage", "huge", "other-id", "half", "chatty"]]
DOCUMENTATION = {
    "older": [
        tool("resolve-library-id", "libraryName", libraryName=TEXT),
        tool("get-library-docs", "context7CompatibleLibraryID",
             context7CompatibleLibraryID=TEXT, topic=TEXT, tokens={"type": "number"}),
    ],
    "newer": [
        tool("resolve-library-id", "query", "libraryName", query=TEXT, libraryName=TEXT),
        tool("query-docs", "libraryId", "query", libraryId=TEXT, query=TEXT),
    ],
}
REVIEW = tool("ask-gemini", "prompt", prompt=TEXT)

def text(*texts, **more):
    return {"content": [{"type": "text", "text": text} for text in texts], **more}

LIBRARIES = """Available Libraries:

- Title: Next.js
- Context7-compatible library ID: /vercel/next.js
- Description: The React framework
- Code Snippets: 5000
- Source Reputation: High
----------
- Title: Nuxt
- Context7-compatible library ID: /nuxt/nuxt
- Description: Vue"""

def call(name, arguments):
    if name == "echo":
        return text("you said", arguments["text"])
    if name == "add":
        return text('{"sum": 5}', structuredContent={"sum": 5})
    if name == "fail":
        return text("no such city", isError=True)
    if name == "slow":
        time.sleep(1000)
    if name == "die":
        sys.stderr.write("x" * 10000 + " out of memory\n")
        sys.exit(3)
    if name == "huge":
        return text("x" * 50_000_000)
    if name == "where":
        return text(os.getcwd(), os.environ.get("TOKEN", ""))
    if name == "resolve-library-id":
        if arguments["libraryName"] == "nothing":
            return text("No documentation libraries found matching your query.")
        return text(LIBRARIES)
    if name in ("get-library-docs", "query-docs"):
        return text(f"### Routing\n\nSource: https://nextjs.org/docs/app\n\n{json.dumps(arguments)}")
    if name == "ask-gemini":
        if "no opinion" in arguments["prompt"]:
            return text("I would rather not say.")
        # The artifact may say which verdict it wants.
        wanted = re.search(r'"wanted": "(\w+)"', arguments["prompt"])
        opinion = {"verdict": wanted[1] if wanted else "needs_changes",
                   "concerns": [arguments["prompt"].strip()[-5:]], "suggestions": ["a cache"]}
        return text(f"Here you are:\n```json\n{json.dumps(opinion)}\n```")
    return text(name)

raw("starting up: a line that is no message\n\n")
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
            raw("{]" * 100 + "\n")
            continue
        if mode == "closes":
            raw('{"jsonrpc": "2.0", "id"')
            os.close(1)
            time.sleep(1000)
        if mode == "refuses":
            send({"id": id, "error": {"code": -32001, "message": "not today"}})
            continue
        if mode == "endless":
            while True:
                raw("x" * 65536)
        info = {"name": "tester", "version": "1"}
        send({"id": id, "result": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                                   "serverInfo": info}})
    elif method == "tools/list":
        if mode in DOCUMENTATION:
            send({"id": id, "result": {"tools": DOCUMENTATION[mode] + [REVIEW]}})
        elif message.get("params", {}).get("cursor") == "more":
            send({"id": id, "result": {"tools": SECOND}})
        else:
            send({"id": id, "result": {"tools": FIRST, "nextCursor": "more"}})
    elif method == "tools/call":
        name, arguments = message["params"]["name"], message["params"].get("arguments", {})
        with open(pid_file + ".calls", "a") as file:
            file.write(f"{name}\n")
        if arguments.get("libraryName") in [tool["name"] for tool in SECOND]:
            name = arguments["libraryName"]
        if name in ("refuse", "unknown"):
            send({"id": id, "error": {"code": -32602, "message": "not like that"}})
        elif name == "garbage":
            raw("{]" * 100 + "\n")
        elif name == "other-id":
            send({"id": 4711, "result": text("for somebody else")})
        elif name == "half":
            raw('{"jsonrpc": "2.0", "id": 1, "result": {"content": [')
            sys.exit(0)
        elif name == "chatty":
            raw("log: nearly done\n")
            send({"method": "notifications/message", "params": {"level": "info", "data": "x"}})
            send({"id": "mine", "method": "ping"})
            send({"id": id, "result": text("done")})
        else:
            send({"id": id, "result": call(name, arguments)})
    elif method == "ping":
        send({"id": id, "result": {}})
