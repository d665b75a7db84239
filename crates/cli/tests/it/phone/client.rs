//! A phone: a TLS client with a key, which does what the page's script does in a browser.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStderr, ChildStdin, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhook_testkit::{TestEnv, wait_within};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};
use ring::{digest, hmac};
use serde_json::{Value, json};
use tokio_rustls::rustls::client::danger::{
    HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier,
};
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use tokio_rustls::rustls::{
    self, ClientConfig, ClientConnection, DigitallySignedStruct, SignatureScheme, StreamOwned,
    crypto,
};

/// A machine that is busy with other tests takes its time.
pub const LIMIT: Duration = Duration::from_secs(60);

/// Writes bytes in hexadecimal digits.
pub fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").unwrap();
        text
    })
}

/// A browser that accepts one certificate, and remembers which one it was shown.
#[derive(Debug)]
struct Pinned(Mutex<Option<String>>);

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        _ocsp: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let shown = hexadecimal(digest::digest(&digest::SHA256, certificate).as_ref());
        let mut known = self.0.lock().unwrap();
        if known.get_or_insert_with(|| shown.clone()) == &shown {
            return Ok(ServerCertVerified::assertion());
        }
        Err(rustls::Error::General("another certificate".to_owned()))
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _certificate: &CertificateDer<'_>,
        _signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Err(rustls::Error::General("an old version of TLS".to_owned()))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = crypto::ring::default_provider().signature_verification_algorithms;
        crypto::verify_tls13_signature(message, certificate, signature, &algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        crypto::ring::default_provider().signature_verification_algorithms.supported_schemes()
    }
}

/// A response.
#[derive(Debug)]
pub struct Answered {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Answered {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// Returns the short name of the error.
    pub fn code(&self) -> String {
        self.json()["error"]["code"].as_str().unwrap_or_default().to_owned()
    }

    fn parse(text: &str) -> Self {
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{text:?}"));
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Self { status, head: head.to_owned(), body: body.to_owned() }
    }
}

pub type TlsStream = StreamOwned<ClientConnection, TcpStream>;

/// A phone.
#[derive(Debug)]
pub struct Phone {
    /// The host and port of the page.
    pub authority: String,
    browser: Arc<ClientConfig>,
    pinned: Arc<Pinned>,
    key: EcdsaKeyPair,
    /// Its cookie, once it is paired.
    pub cookie: String,
    /// Its id, once it is paired.
    pub id: String,
}

/// What is sent as the answer to a decision, after it was signed: a test may alter it.
#[derive(Clone, Debug)]
pub struct Sent {
    pub path: String,
    pub body: String,
    pub device: String,
    pub nonce: String,
    pub signature: String,
}

impl Phone {
    pub fn new(authority: &str) -> Self {
        let pinned = Arc::new(Pinned(Mutex::new(None)));
        let provider = Arc::new(crypto::ring::default_provider());
        let browser = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .dangerous()
            .with_custom_certificate_verifier(Arc::clone(&pinned) as Arc<dyn ServerCertVerifier>)
            .with_no_client_auth();
        let (random, algorithm) = (SystemRandom::new(), &ECDSA_P256_SHA256_FIXED_SIGNING);
        let document = EcdsaKeyPair::generate_pkcs8(algorithm, &random).unwrap();
        Self {
            authority: authority.to_owned(),
            browser: Arc::new(browser),
            pinned,
            key: EcdsaKeyPair::from_pkcs8(algorithm, document.as_ref(), &random).unwrap(),
            cookie: String::new(),
            id: String::new(),
        }
    }

    /// Returns the fingerprint of the certificate that it was shown, as its browser would.
    pub fn shown_fingerprint(&self) -> String {
        self.pinned.0.lock().unwrap().clone().unwrap()
    }

    pub fn public_key(&self) -> String {
        hexadecimal(self.key.public_key().as_ref())
    }

    pub fn sign(&self, text: &str) -> String {
        hexadecimal(self.key.sign(&SystemRandom::new(), text.as_bytes()).unwrap().as_ref())
    }

    pub fn connect(&self) -> TlsStream {
        let stream = TcpStream::connect(&self.authority).unwrap();
        stream.set_read_timeout(Some(LIMIT)).unwrap();
        let host = self.authority.rsplit_once(':').unwrap().0.to_owned();
        let name = ServerName::try_from(host).unwrap();
        let connection = ClientConnection::new(Arc::clone(&self.browser), name).unwrap();
        StreamOwned::new(connection, stream)
    }

    /// Sends a request with these lines in its head, and returns the stream of the answer.
    pub fn send(&self, method: &str, path: &str, lines: &[String], body: &str) -> TlsStream {
        let mut stream = self.connect();
        let host = &self.authority;
        let mut head = format!("{method} {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n");
        for line in lines {
            head += &format!("{line}\r\n");
        }
        head += &format!("content-length: {}\r\n\r\n", body.len());
        stream.write_all(format!("{head}{body}").as_bytes()).unwrap();
        stream
    }

    pub fn request(&self, method: &str, path: &str, lines: &[String], body: &str) -> Answered {
        let mut text = String::new();
        let mut stream = self.send(method, path, lines, body);
        // A server may end a connection without saying so first.
        let _ = stream.read_to_string(&mut text);
        Answered::parse(&text)
    }

    pub fn cookie_line(&self) -> String {
        format!("cookie: __Host-anyhook_device={}", self.cookie)
    }

    pub fn get(&self, path: &str) -> Answered {
        self.request("GET", path, &[self.cookie_line()], "")
    }

    pub fn post_json(&self, path: &str, body: &Value) -> Answered {
        let lines = ["content-type: application/json".to_owned()];
        self.request("POST", path, &lines, &body.to_string())
    }

    /// Uses a link, and returns the code that it shows, and the word for the end.
    pub fn arrive(&self, link: &str, name: &str) -> (String, String) {
        let (secret, fingerprint) = link.split_once('#').unwrap().1.split_once('.').unwrap();
        let key = self.public_key();
        let transcript =
            format!("anyhook pairing 1\ncertificate {fingerprint}\nkey {key}\nname {name}\n");
        let word = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
        let derived = |purpose: &str| {
            hexadecimal(hmac::sign(&word, format!("{purpose}\n{transcript}").as_bytes()).as_ref())
        };
        let (proof, signature) = (derived("proof"), self.sign(&transcript));
        let sent = json!({"name": name, "key": key, "proof": proof, "signature": signature});
        let answered = self.post_json("/pair", &sent);
        assert_eq!(answered.status, 200, "{answered:?}");
        let number = u32::from_str_radix(&derived("code")[..8], 16).unwrap() % 1_000_000;
        (format!("{number:06}"), answered.json()["ticket"].as_str().unwrap().to_owned())
    }

    /// Asks how the pairing went on, until there is an answer.
    pub fn finish(&mut self, ticket: &str) -> Answered {
        loop {
            let answered = self.post_json("/pair/finish", &json!({"ticket": ticket}));
            if answered.status == 200 && answered.json()["state"] == "waiting" {
                continue;
            }
            let cookie = "set-cookie: __Host-anyhook_device=";
            if let Some((_, rest)) = answered.head.split_once(cookie) {
                rest.split(';').next().unwrap().clone_into(&mut self.cookie);
                answered.json()["device"].as_str().unwrap().clone_into(&mut self.id);
            }
            return answered;
        }
    }

    /// Signs a request with a new word.
    pub fn signed(&self, path: &str, body: &str) -> Sent {
        let given = self.get("/device/nonce").json();
        let nonce = given["nonce"].as_str().unwrap().to_owned();
        let (path, body, device) = (path.to_owned(), body.to_owned(), self.id.clone());
        let text =
            format!("anyhook request 1\nPOST {path}\ndevice {device}\nnonce {nonce}\n\n{body}");
        let signature = self.sign(&text);
        Sent { path, body, device, nonce, signature }
    }

    pub fn post(&self, sent: &Sent) -> Answered {
        let lines = [
            self.cookie_line(),
            format!("origin: https://{}", self.authority),
            "content-type: application/x-www-form-urlencoded".to_owned(),
            format!("x-anyhook-device: {}", sent.device),
            format!("x-anyhook-nonce: {}", sent.nonce),
            format!("x-anyhook-signature: {}", sent.signature),
        ];
        self.request("POST", &sent.path, &lines, &sent.body)
    }
}

/// `anyhook ui --lan` in a terminal, with a person who types.
#[derive(Debug)]
pub struct Terminal {
    pub child: Child,
    input: ChildStdin,
    said: Arc<Mutex<String>>,
    /// The link for the phone.
    pub link: String,
    /// The fingerprint that it shows.
    pub fingerprint: String,
}

impl Terminal {
    pub fn begin(environment: &TestEnv) -> Self {
        let mut command = environment.command(&["ui", "--lan", "--address", "127.0.0.2"]);
        command.env("USER", "ann");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let input = child.stdin.take().unwrap();
        let said = Arc::new(Mutex::new(String::new()));
        follow(child.stderr.take().unwrap(), Arc::clone(&said));
        let (mut link, mut fingerprint) = (String::new(), String::new());
        let mut output = BufReader::new(child.stdout.take().unwrap()).lines();
        while link.is_empty() || fingerprint.is_empty() {
            let shown = output.next().unwrap_or_else(|| panic!("{}", said.lock().unwrap()));
            let shown = shown.unwrap();
            if shown.starts_with("https://") {
                link = shown;
            } else if let Some((_, print)) = shown.split_once("(SHA-256): ") {
                print.clone_into(&mut fingerprint);
            }
        }
        // Its output must not be full.
        std::thread::spawn(move || output.for_each(drop));
        Self { child, input, said, link, fingerprint }
    }

    /// Returns the host and port of the page.
    pub fn authority(&self) -> String {
        let rest = self.link.strip_prefix("https://").unwrap();
        rest.split_once('/').unwrap().0.to_owned()
    }

    pub fn said(&self) -> String {
        self.said.lock().unwrap().clone()
    }

    pub fn wait_for(&self, text: &str) {
        wait_within(LIMIT, text, || self.said().contains(text));
    }

    pub fn type_line(&mut self, line: &str) {
        writeln!(self.input, "{line}").unwrap();
    }

    /// Types the pairs that are missing, as a phone's browser shows them.
    pub fn type_fingerprint(&mut self, shown: &str) {
        self.wait_for("the pairs that are missing here: ");
        let said = self.said();
        let pairs: Vec<&str> = said
            .lines()
            .filter_map(|line| line.strip_prefix("  "))
            .flat_map(|line| line.split(' '))
            .collect();
        assert_eq!(pairs.len(), 32, "{said}");
        let missing: Vec<&str> = (0..32)
            .filter(|place| pairs[*place] == "??")
            .map(|place| &shown[2 * place..2 * place + 2])
            .collect();
        self.type_line(&missing.join(" "));
    }

    pub fn type_code(&mut self, code: &str) {
        self.wait_for("the code on the phone's page: ");
        self.type_line(code);
    }

    /// Waits for its end and returns the exit code.
    pub fn end(&mut self) -> i32 {
        self.child.wait().unwrap().code().unwrap()
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn follow(mut error: ChildStderr, said: Arc<Mutex<String>>) {
    std::thread::spawn(move || {
        let mut bytes = [0; 1024];
        while let Ok(length @ 1..) = error.read(&mut bytes) {
            said.lock().unwrap().push_str(&String::from_utf8_lossy(&bytes[..length]));
        }
    });
}

/// Pairs a phone, as a person would.
pub fn paired(environment: &TestEnv, name: &str) -> Phone {
    let mut terminal = Terminal::begin(environment);
    let mut phone = Phone::new(&terminal.authority());
    let (code, ticket) = phone.arrive(&terminal.link, name);
    terminal.type_fingerprint(&phone.shown_fingerprint());
    terminal.type_code(&code);
    let answered = phone.finish(&ticket);
    assert_eq!((answered.status, phone.id.is_empty()), (200, false), "{answered:?}");
    assert_eq!(terminal.end(), 0, "{}", terminal.said());
    phone
}
