//! Asking over TLS.

use std::sync::Arc;
use std::time::Duration;

use anyhook_sdk::agent::ModelError;
use anyhook_sdk::openai::OpenAiModel;
use anyhook_testkit::tls::{CERTIFICATE, PRIVATE_KEY};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{ServerConfig, crypto};

use super::server::{Server, Step};
use super::{SHORT, answer, ask, short};

async fn encrypted(scripts: Vec<Vec<Step>>) -> (Server, OpenAiModel) {
    let provider = Arc::new(crypto::ring::default_provider());
    let certificate = CertificateDer::from_pem_slice(CERTIFICATE.as_bytes()).unwrap();
    let key = PrivateKeyDer::from_pem_slice(PRIVATE_KEY.as_bytes()).unwrap();
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let server = Server::on(listener, scripts, Some(TlsAcceptor::from(Arc::new(config))));
    let model = OpenAiModel::new(format!("https://{}/v1", server.address), "m");
    (server, model)
}

#[tokio::test]
async fn an_encrypted_answer_is_read() {
    let (_server, model) = encrypted(vec![answer(SHORT), answer(SHORT)]).await;
    let model = model.root_certificates(CERTIFICATE);
    assert_eq!(ask(&model).await, (short(), None));
    assert_eq!(ask(&model).await, (short(), None));
}

#[tokio::test]
async fn a_certificate_must_be_known() {
    let (server, model) = encrypted(vec![answer(SHORT); 3]).await;
    let (_, error) = ask(&model).await;
    assert!(matches!(error, Some(ModelError::Unreachable(_))), "{error:?}");
    assert_eq!(server.seen().len(), 0);
}

#[tokio::test]
async fn a_certificate_must_name_the_server() {
    let (server, _) = encrypted(vec![answer(SHORT); 3]).await;
    let model = OpenAiModel::new(format!("https://localhost:{}", server.address.port()), "m")
        .root_certificates(CERTIFICATE);
    let (_, error) = ask(&model).await;
    assert!(
        matches!(&error, Some(ModelError::Unreachable(why)) if why.contains("certificate")),
        "{error:?}"
    );
    assert_eq!(server.seen().len(), 0);
}

#[tokio::test]
async fn certificates_that_are_none_are_told() {
    let (_server, model) = encrypted(vec![]).await;
    let broken = CERTIFICATE.replace("MII", "???");
    let (_, error) = ask(&model.root_certificates(broken)).await;
    assert!(
        matches!(&error, Some(ModelError::Unreachable(why)) if why.contains("root certificate")),
        "{error:?}"
    );
}

#[tokio::test]
async fn a_connection_must_be_made_in_time() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    // It takes the connection and says nothing, so that there is never a secret to share.
    let model = OpenAiModel::new(format!("https://{address}"), "m")
        .root_certificates(CERTIFICATE)
        .connect_timeout(Duration::from_millis(100))
        .retries(0);
    let (_, error) = ask(&model).await;
    let why = format!("127.0.0.1:{}: no connection within 100 ms", address.port());
    assert_eq!(error, Some(ModelError::Unreachable(why)));
}
