//! Clients, built when first needed.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use reqwest::redirect::{Attempt, Policy};
use reqwest::{Client, ClientBuilder, NoProxy, Proxy};
use url::Url;

use crate::resolve::Resolver;
use crate::roots::{Trust, tls_config};
use crate::{HttpError, HttpSettings};

/// Hosts that are never reached through a proxy: a model server on this machine
/// is not visible from there.
const NEVER_PROXIED: &str = "localhost,127.0.0.1,::1";

const REDIRECTS: usize = 5;

/// A handle to the clients of one process; clones share them.
#[derive(Clone, Debug, Default)]
pub struct Http {
    inner: Arc<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    settings: HttpSettings,
    plain: OnceLock<Client>,
    secure: OnceLock<Client>,
    guarded: OnceLock<Client>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Plain,
    Secure,
    Guarded,
}

impl Http {
    pub fn new(settings: HttpSettings) -> Self {
        Self {
            inner: Arc::new(Inner {
                settings,
                ..Inner::default()
            }),
        }
    }

    pub fn settings(&self) -> &HttpSettings {
        &self.inner.settings
    }

    /// The client for a URL of the user's own configuration. It follows redirects
    /// only within the same host, because requests carry keys.
    pub fn client(&self, url: &Url) -> Result<&Client, HttpError> {
        // Through a proxy even plain requests may need certificates.
        if url.scheme() == "http" && !self.inner.settings.any_proxy() {
            self.get_or_build(&self.inner.plain, Kind::Plain)
        } else {
            self.get_or_build(&self.inner.secure, Kind::Secure)
        }
    }

    /// The client for URLs that a model or a stranger chose. It follows no
    /// redirects and connects to no forbidden address; see `fetch_untrusted`.
    pub(crate) fn guarded(&self) -> Result<&Client, HttpError> {
        self.get_or_build(&self.inner.guarded, Kind::Guarded)
    }

    fn get_or_build<'a>(
        &self,
        cell: &'a OnceLock<Client>,
        kind: Kind,
    ) -> Result<&'a Client, HttpError> {
        if let Some(client) = cell.get() {
            return Ok(client);
        }
        let client = build(&self.inner.settings, kind)?;
        Ok(cell.get_or_init(|| client))
    }
}

fn build(settings: &HttpSettings, kind: Kind) -> Result<Client, HttpError> {
    let trust = match kind {
        Kind::Plain => Trust::Nobody,
        Kind::Secure | Kind::Guarded => Trust::Configured,
    };
    let mut builder = Client::builder()
        .tls_backend_preconfigured(tls_config(settings, trust)?)
        .user_agent(&settings.user_agent)
        .connect_timeout(settings.connect_timeout)
        .tcp_nodelay(true)
        .tcp_keepalive(Duration::from_secs(30))
        .tcp_keepalive_interval(Duration::from_secs(10))
        .tcp_keepalive_retries(3)
        .pool_max_idle_per_host(8)
        .referer(false)
        // Never the process environment: the settings carry what counts.
        .no_proxy();
    builder = add_proxies(builder, settings)?;
    builder = match kind {
        Kind::Plain | Kind::Secure => builder.redirect(Policy::custom(same_host_only)),
        Kind::Guarded => builder.redirect(Policy::none()),
    };
    let reach = (kind == Kind::Guarded).then_some(settings.reach);
    if reach.is_some() || settings.force_ipv4 {
        builder = builder.dns_resolver(Arc::new(Resolver {
            force_ipv4: settings.force_ipv4,
            reach,
        }));
    }
    builder
        .build()
        .map_err(|error| HttpError::Build(error.to_string()))
}

fn same_host_only(attempt: Attempt<'_>) -> reqwest::redirect::Action {
    let Some(from) = attempt.previous().last() else {
        return attempt.stop();
    };
    let same = |a: &Url, b: &Url| {
        (a.scheme(), a.host_str(), a.port_or_known_default())
            == (b.scheme(), b.host_str(), b.port_or_known_default())
    };
    if same(from, attempt.url()) && attempt.previous().len() <= REDIRECTS {
        attempt.follow()
    } else {
        attempt.stop()
    }
}

fn add_proxies(
    mut builder: ClientBuilder,
    settings: &HttpSettings,
) -> Result<ClientBuilder, HttpError> {
    type Make = fn(&str) -> reqwest::Result<Proxy>;
    let kinds: [(&Option<String>, Make); 3] = [
        (&settings.http_proxy, |url| Proxy::http(url)),
        (&settings.https_proxy, |url| Proxy::https(url)),
        (&settings.all_proxy, |url| Proxy::all(url)),
    ];
    let exceptions = match &settings.no_proxy {
        Some(list) => format!("{list},{NEVER_PROXIED}"),
        None => NEVER_PROXIED.to_owned(),
    };
    for (url, make) in kinds {
        let Some(url) = url else { continue };
        let proxy = make(url).map_err(|error| HttpError::Proxy {
            url: without_password(url),
            reason: error.to_string(),
        })?;
        builder = builder.proxy(proxy.no_proxy(NoProxy::from_string(&exceptions)));
    }
    Ok(builder)
}

fn without_password(url: &str) -> String {
    match (url.split_once("://"), url.rsplit_once('@')) {
        (Some((scheme, _)), Some((_, host))) => format!("{scheme}://…@{host}"),
        _ => url.to_owned(),
    }
}
