//! What the client is told about its surroundings, as values.

use std::path::PathBuf;
use std::time::Duration;

/// Which addresses a URL that we did not choose may lead to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reach {
    /// Only addresses of the public internet.
    #[default]
    Public,
    /// Private networks too (`security.allow_private_urls`); never the metadata
    /// services of clouds.
    Private,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpSettings {
    pub http_proxy: Option<String>,
    pub https_proxy: Option<String>,
    pub all_proxy: Option<String>,
    /// Comma-separated hosts, domains and networks that need no proxy.
    pub no_proxy: Option<String>,
    /// A PEM file with trust roots instead of the system's store.
    pub certificate_file: Option<PathBuf>,
    /// A directory with trust roots instead of the system's store.
    pub certificate_directory: Option<PathBuf>,
    /// Trust roots in addition to the others.
    pub extra_certificate_file: Option<PathBuf>,
    /// Use A records only, unless a host has none (`network.force_ipv4`).
    pub force_ipv4: bool,
    pub reach: Reach,
    pub connect_timeout: Duration,
    pub user_agent: String,
}

impl Default for HttpSettings {
    fn default() -> Self {
        Self {
            http_proxy: None,
            https_proxy: None,
            all_proxy: None,
            no_proxy: None,
            certificate_file: None,
            certificate_directory: None,
            extra_certificate_file: None,
            force_ipv4: false,
            reach: Reach::Public,
            connect_timeout: Duration::from_secs(30),
            user_agent: concat!("hermes/", env!("CARGO_PKG_VERSION")).to_owned(),
        }
    }
}

impl HttpSettings {
    /// Reads the customary variables (`HTTPS_PROXY`, `NO_PROXY`, `SSL_CERT_FILE`,
    /// …) through `variable`; lower case wins, as everywhere.
    pub fn from_variables<'a>(variable: impl Fn(&str) -> Option<&'a str>) -> Self {
        let either = |lower: &str| {
            variable(lower)
                .or_else(|| variable(&lower.to_uppercase()))
                .map(str::trim)
                .filter(|value| !value.is_empty())
                .map(str::to_owned)
        };
        let path = |name: &str| {
            variable(name)
                .filter(|value| !value.trim().is_empty())
                .map(PathBuf::from)
        };
        Self {
            http_proxy: either("http_proxy"),
            https_proxy: either("https_proxy"),
            all_proxy: either("all_proxy"),
            no_proxy: either("no_proxy"),
            certificate_file: path("SSL_CERT_FILE"),
            certificate_directory: path("SSL_CERT_DIR"),
            ..Self::default()
        }
    }

    pub(crate) fn any_proxy(&self) -> bool {
        self.http_proxy.is_some() || self.https_proxy.is_some() || self.all_proxy.is_some()
    }
}
