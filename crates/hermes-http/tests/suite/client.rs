use hermes_http::{Http, HttpError, HttpSettings, Url};
use hermes_testkit::model::{ModelServer, Reply};

fn url(text: &str) -> Url {
    Url::parse(text).unwrap()
}

#[test]
fn variables_are_read_in_both_cases_and_lower_case_wins() {
    let settings = HttpSettings::from_variables(|name| match name {
        "HTTPS_PROXY" => Some("http://upper:1"),
        "http_proxy" => Some("http://lower:2"),
        "HTTP_PROXY" => Some("http://upper:2"),
        "NO_PROXY" => Some(" "),
        "SSL_CERT_FILE" => Some("/certs.pem"),
        _ => None,
    });
    assert_eq!(settings.https_proxy.as_deref(), Some("http://upper:1"));
    assert_eq!(settings.http_proxy.as_deref(), Some("http://lower:2"));
    assert_eq!(settings.no_proxy, None);
    assert_eq!(
        settings.certificate_file.unwrap().to_str(),
        Some("/certs.pem")
    );
}

#[test]
fn a_missing_certificate_file_is_named() {
    let http = Http::new(HttpSettings {
        certificate_file: Some("/nowhere/certs.pem".into()),
        ..HttpSettings::default()
    });
    let error = http.client(&url("https://example.com")).unwrap_err();
    assert!(
        matches!(&error, HttpError::Certificates { path, .. } if path == "/nowhere/certs.pem"),
        "{error}"
    );
    // A plain URL needs no certificate, so a broken store does not stand in its way.
    assert!(http.client(&url("http://example.com")).is_ok());
}

#[test]
fn a_broken_proxy_is_named_without_its_password() {
    let http = Http::new(HttpSettings {
        https_proxy: Some("http://user:secret@bad host".to_owned()),
        ..HttpSettings::default()
    });
    let error = http
        .client(&url("https://example.com"))
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("bad host") && !error.contains("secret"),
        "{error}"
    );
}

#[tokio::test]
async fn requests_go_through_the_proxy_except_to_this_machine() {
    let proxy = ModelServer::start();
    proxy.route(
        "http://model.test/v1/models",
        Reply::json(200, &serde_json::json!("proxied")),
    );
    let target = ModelServer::start();
    let http = Http::new(HttpSettings {
        http_proxy: Some(proxy.origin()),
        ..HttpSettings::default()
    });
    let far = url("http://model.test/v1/models");
    let answer = http.client(&far).unwrap().get(far).send().await.unwrap();
    assert_eq!(answer.text().await.unwrap(), "\"proxied\"");
    let near = url(&format!("{}/models", target.url()));
    let answer = http.client(&near).unwrap().get(near).send().await.unwrap();
    assert!(answer.text().await.unwrap().contains("scripted-model"));
    assert_eq!(proxy.all_requests().len(), 1);
}

#[tokio::test]
async fn a_redirect_to_another_host_is_not_followed() {
    let other = ModelServer::start();
    let server = ModelServer::start();
    server.route(
        "/v1/chat/completions",
        Reply::error(307, "moved").header("Location", format!("{}/chat/completions", other.url())),
    );
    let from = url(&format!("{}/chat/completions", server.url()));
    let http = Http::default();
    let answer = http
        .client(&from)
        .unwrap()
        .post(from)
        .header("x-api-key", "secret")
        .send()
        .await
        .unwrap();
    assert_eq!(answer.status(), 307);
    assert!(other.all_requests().is_empty());
}
