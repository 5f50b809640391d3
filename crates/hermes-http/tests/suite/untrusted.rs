use std::time::Duration;

use hermes_http::{FetchLimits, Forbidden, Http, HttpError, HttpSettings, Reach};
use hermes_testkit::model::{Gate, ModelServer, Reply};

fn private() -> Http {
    Http::new(HttpSettings {
        reach: Reach::Private,
        ..HttpSettings::default()
    })
}

fn why(error: HttpError) -> Forbidden {
    match error {
        HttpError::Forbidden { reason, .. } => reason,
        other => panic!("not a refusal: {other}"),
    }
}

#[tokio::test]
async fn private_addresses_are_refused_before_connecting() {
    let server = ModelServer::start();
    let http = Http::default();
    let direct = http
        .fetch_untrusted(&server.url(), FetchLimits::default())
        .await;
    assert_eq!(why(direct.unwrap_err()), Forbidden::Private);
    let named = format!("http://localhost:{}/", server.address().port());
    assert_eq!(
        why(http.check_untrusted(&named).await.unwrap_err()),
        Forbidden::Private
    );
    assert!(server.all_requests().is_empty());
}

#[tokio::test]
async fn every_hop_of_a_redirect_is_checked() {
    let server = ModelServer::start();
    server.route(
        "/start",
        Reply::error(302, "").header("Location", "http://169.254.169.254/latest"),
    );
    let start = format!("{}/start", server.origin());
    let outcome = private()
        .fetch_untrusted(&start, FetchLimits::default())
        .await;
    assert_eq!(why(outcome.unwrap_err()), Forbidden::Metadata);
}

#[tokio::test]
async fn redirects_are_followed_a_few_times_only() {
    let server = ModelServer::start();
    server.route("/one", Reply::error(302, "").header("Location", "/two"));
    server.route("/two", Reply::body(200, "text/plain", "there"));
    server.route("/loop", Reply::error(302, "").header("Location", "/loop"));
    let at = |path: &str| format!("{}{path}", server.origin());
    let fetched = private()
        .fetch_untrusted(&at("/one"), FetchLimits::default())
        .await
        .unwrap();
    assert_eq!(
        (
            fetched.body.as_slice(),
            fetched.url.path(),
            fetched.truncated
        ),
        (&b"there"[..], "/two", false)
    );
    let looping = private()
        .fetch_untrusted(&at("/loop"), FetchLimits::default())
        .await;
    assert!(matches!(looping, Err(HttpError::TooManyRedirects { .. })));
}

#[tokio::test]
async fn size_and_time_are_bounded() {
    let server = ModelServer::start();
    server.route("/big", Reply::body(200, "text/plain", vec![b'x'; 1000]));
    let gate = Gate::new();
    server.route(
        "/slow",
        Reply::body(200, "text/plain", "late").held_by(&gate),
    );
    let at = |path: &str| format!("{}{path}", server.origin());
    let limits = FetchLimits {
        max_bytes: 10,
        timeout: Duration::from_millis(200),
    };
    let big = private()
        .fetch_untrusted(&at("/big"), limits)
        .await
        .unwrap();
    assert_eq!((big.body.len(), big.truncated), (10, true));
    let slow = private().fetch_untrusted(&at("/slow"), limits).await;
    assert!(matches!(slow, Err(HttpError::Timeout { .. })));
}
