# An MCP server for tests over streamable HTTP, on a port of its own choice, which it prints. The
# path says how it behaves. With an argument it encrypts, with the certificate and key in that file.
import json, ssl, sys, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *arguments):
        pass

    def reply(self, status, body=b"", kind="application/json", **headers):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def do_DELETE(self):
        print("deleted", self.headers["Mcp-Session-Id"], flush=True)
        self.reply(200)

    def do_GET(self):
        self.reply(405)

    def do_POST(self):
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        mode, method, id = self.path.strip("/"), message.get("method"), message.get("id")
        if self.headers.get("Authorization") != "Bearer s3cret":
            return self.reply(401, b"who are you?", "text/plain")
        if id is None:
            return self.reply(202)
        answer = lambda result: json.dumps({"jsonrpc": "2.0", "id": id, "result": result}).encode()
        if method == "initialize":
            info = {"name": "tester", "version": "1"}
            result = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": info}
            return self.reply(200, answer(result), Mcp_Session_Id="s1")
        if self.headers.get("Mcp-Session-Id") != "s1":
            return self.reply(400, b"no session")
        if method == "tools/list":
            names = ["resolve-library-id", "get-library-docs"] if mode == "context7" else ["echo"]
            schema = {"type": "object", "properties": {}}
            tools = [{"name": name, "inputSchema": schema} for name in names]
            return self.reply(200, answer({"tools": tools}))
        text = "x" * (50_000_000 if mode.startswith("huge") else 5)
        if message["params"]["name"] == "resolve-library-id":
            text = "- Title: Vue\n- Context7-compatible library ID: /vuejs/core"
        body = answer({"content": [{"type": "text", "text": text}]})
        if mode in ("events", "huge-events"):
            note = b'data: {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": 1}}\n\n'
            return self.reply(200, note + b"event: message\ndata: " + body + b"\n\n", "text/event-stream")
        if mode == "cut":
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Content-Length", "1000")
            self.end_headers()
            self.wfile.write(b'data: {"jsonrpc"')
            self.close_connection = True
            return
        if mode == "empty-events":
            return self.reply(200, b": nothing\n\n", "text/event-stream")
        if mode == "slow":
            time.sleep(1000)
        if mode == "garbage":
            return self.reply(200, b"<html>hello</html>", "text/html")
        if mode == "broken":
            return self.reply(500, b"out of order")
        if mode == "elsewhere":
            return self.reply(302, Location="https://example.com")
        if mode == "other-id":
            body = json.dumps({"jsonrpc": "2.0", "id": 4711, "result": {"content": []}}).encode()
        self.reply(200, body)

server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
server.daemon_threads = True
if len(sys.argv) > 1:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[1])
    server.socket = context.wrap_socket(server.socket, server_side=True)
print(server.server_address[1], flush=True)
server.serve_forever()
