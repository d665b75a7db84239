//! A phone: a browser of its own, narrow, over TLS, that answers with signed requests.

use anyhook_testkit::finish;
use serde_json::json;

use crate::environment;
use crate::opened::{Opened, asks, dismissed, waits};
use crate::phone_client::Terminal;

/// A phone-sized browser that accepts the certificate, as a person does who has compared it.
const PHONE: &str = "
    const phone = await tools.page('phone', {
      viewport: { width: 360, height: 720 }, isMobile: true, hasTouch: true,
      ignoreHTTPSErrors: true, colorScheme: 'dark',
    });
    await phone.goto(args.link);
    await phone.waitForSelector('#pair:not([hidden])');
    const shown = { axe: await tools.axe(phone) };
    await phone.fill('#device-name', \"Ann's phone\");
    await phone.click('#pair button');
    await phone.waitForSelector('#pair-code:not([hidden])');
    shown.code = await phone.textContent('#code');
    shown.url = phone.url();
    return shown;";

#[test]
fn a_phone_is_paired_and_answers() {
    let environment = environment();
    asks(&environment);
    let input = json!({"command": "touch please-ask"});
    let (process, decision) = waits(&environment, "s", "Shell", &input);
    let Some(mut page) = Opened::new("a phone", &environment) else { return };
    let mut terminal = Terminal::begin(&environment);
    let shown = page.run(PHONE, json!({"link": terminal.link}));
    assert_eq!(shown["axe"], json!([]), "{shown:#}");
    assert_eq!(shown["url"], format!("https://{}/pair", terminal.authority()), "no secret stays");
    let fingerprint = terminal.fingerprint.clone();
    terminal.type_fingerprint(&fingerprint);
    terminal.type_code(&shown["code"].as_str().unwrap().replace('-', ""));
    assert_eq!(terminal.end(), 0, "{}", terminal.said());
    let id = decision["inquiry"]["id"].as_str().unwrap();
    let script = "
        const phone = await tools.page('phone');
        await phone.waitForURL('**/decisions');
        const width = await phone.evaluate(() => document.scrollingElement.scrollWidth);
        const axe = await tools.axe(phone);
        await phone.click(`#decision-${args.id} button[value=allow]`);
        await phone.waitForSelector(`#ending-${args.id}`);
        return { width, axe, ending: await phone.textContent(`#ending-${args.id}`) };";
    let seen = page.run(script, json!({"id": id}));
    assert_eq!((&seen["width"], &seen["axe"]), (&json!(360), &json!([])), "{seen:#}");
    assert!(seen["ending"].as_str().unwrap().contains("Ann's phone"), "{seen:#}");
    assert_eq!(finish(process).code, 0);
    // The other browser lists the phone; once it is removed, it sees nothing any more.
    let script = "
        await page.goto(`${args.address}devices`);
        const axe = await tools.axe(page);
        await page.click('main form button');
        const phone = await tools.page('phone');
        const answer = await phone.goto(phone.url());
        return { axe, status: answer.status() };";
    let removed = page.run(script, json!({}));
    assert_eq!(removed, json!({"axe": [], "status": 401}));
}

/// What was signed is for one decision and one call: a request that is sent again does nothing.
#[test]
fn a_request_of_a_phone_counts_once() {
    let environment = environment();
    asks(&environment);
    let (first, one) = waits(&environment, "s", "Shell", &json!({"command": "echo please-ask 1"}));
    let (second, two) = waits(&environment, "t", "Shell", &json!({"command": "echo please-ask 2"}));
    let Some(mut page) = Opened::new("a phone", &environment) else { return };
    let mut terminal = Terminal::begin(&environment);
    let shown = page.run(PHONE, json!({"link": terminal.link}));
    let fingerprint = terminal.fingerprint.clone();
    terminal.type_fingerprint(&fingerprint);
    terminal.type_code(&shown["code"].as_str().unwrap().replace('-', ""));
    assert_eq!(terminal.end(), 0, "{}", terminal.said());
    let id = |decision: &serde_json::Value| decision["inquiry"]["id"].clone();
    let script = "
        const phone = await tools.page('phone');
        await phone.waitForURL('**/decisions');
        const sent = new Promise((done) => phone.on('request', (request) => {
          if (request.url().endsWith('/answer')) done(request);
        }));
        await phone.click(`#decision-${args.one} button[value=allow]`);
        await phone.waitForSelector(`#ending-${args.one}`);
        const request = await sent;
        const headers = request.headers();
        const again = (path, body) => phone.evaluate(async ([path, headers, body]) => {
          const kept = Object.fromEntries(Object.entries(headers).filter(([name]) =>
            name.startsWith('x-anyhook') || name === 'content-type'));
          return (await fetch(path, { method: 'POST', headers: kept, body })).status;
        }, [path, headers, body]);
        const path = new URL(request.url()).pathname;
        return [await again(path, request.postData()),
                await again(path.replace(args.one, args.two), request.postData())];";
    let again = page.run(script, json!({"one": id(&one), "two": id(&two)}));
    for status in again.as_array().unwrap() {
        assert!(matches!(status.as_u64(), Some(403 | 409)), "{again}");
    }
    assert_eq!(finish(first).code, 0);
    dismissed(second, &environment, &two);
}
