//! Fetching what a model or a stranger pointed at: every hop is checked, sizes
//! and times are bounded.

use std::time::Duration;

use futures_util::StreamExt;
use reqwest::header::{HeaderMap, LOCATION};
use url::Url;

use crate::guard::check_url;
use crate::resolve::Resolver;
use crate::{Forbidden, Http, HttpError};

const HOPS: usize = 5;

#[derive(Clone, Copy, Debug)]
pub struct FetchLimits {
    pub max_bytes: usize,
    /// For the whole fetch, redirects included.
    pub timeout: Duration,
}

impl Default for FetchLimits {
    fn default() -> Self {
        Self {
            max_bytes: 10 * 1024 * 1024,
            timeout: Duration::from_secs(30),
        }
    }
}

#[derive(Clone, Debug)]
pub struct Fetched {
    /// Where the last redirect led.
    pub url: Url,
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Vec<u8>,
    /// The body was longer than allowed; what is here is its beginning.
    pub truncated: bool,
}

impl Http {
    /// Checks without fetching: for URLs that somebody else will open.
    pub async fn check_untrusted(&self, url: &str) -> Result<Url, HttpError> {
        let parsed = parse(url)?;
        self.check(&parsed).await?;
        Ok(parsed)
    }

    /// GETs a URL that is not ours. Private addresses are refused at every hop,
    /// as an address in the URL, as what a name resolves to, and once more when
    /// connecting.
    pub async fn fetch_untrusted(
        &self,
        url: &str,
        limits: FetchLimits,
    ) -> Result<Fetched, HttpError> {
        tokio::time::timeout(limits.timeout, self.follow(url, limits.max_bytes))
            .await
            .unwrap_or_else(|_| {
                Err(HttpError::Timeout {
                    url: url.to_owned(),
                    seconds: limits.timeout.as_secs(),
                })
            })
    }

    async fn check(&self, url: &Url) -> Result<(), HttpError> {
        let reach = self.settings().reach;
        let forbidden = |reason: Forbidden| HttpError::Forbidden {
            url: url.to_string(),
            reason,
        };
        check_url(url, reach).map_err(forbidden)?;
        if let Some(url::Host::Domain(name)) = url.host() {
            let resolver = Resolver {
                force_ipv4: self.settings().force_ipv4,
                reach: Some(reach),
            };
            if let Err(error) = resolver.lookup(name).await {
                return Err(match error.downcast::<Forbidden>() {
                    Ok(reason) => forbidden(*reason),
                    // A proxy may know names that we do not.
                    Err(_) if self.settings().any_proxy() => return Ok(()),
                    Err(error) => HttpError::Url {
                        url: url.to_string(),
                        reason: error.to_string(),
                    },
                });
            }
        }
        Ok(())
    }

    async fn follow(&self, url: &str, max_bytes: usize) -> Result<Fetched, HttpError> {
        let mut current = parse(url)?;
        for _ in 0..=HOPS {
            self.check(&current).await?;
            let response = self.guarded()?.get(current.clone()).send().await?;
            let next = response
                .headers()
                .get(LOCATION)
                .filter(|_| response.status().is_redirection())
                .and_then(|location| location.to_str().ok())
                .and_then(|location| current.join(location).ok());
            if let Some(next) = next {
                current = next;
                continue;
            }
            let (status, headers) = (response.status().as_u16(), response.headers().clone());
            let mut body = Vec::new();
            let mut truncated = false;
            let mut stream = response.bytes_stream();
            while let Some(piece) = stream.next().await {
                let piece = piece?;
                let room = max_bytes - body.len();
                body.extend_from_slice(&piece[..piece.len().min(room)]);
                if piece.len() > room {
                    truncated = true;
                    break;
                }
            }
            return Ok(Fetched {
                url: current,
                status,
                headers,
                body,
                truncated,
            });
        }
        Err(HttpError::TooManyRedirects {
            url: url.to_owned(),
            limit: HOPS,
        })
    }
}

fn parse(url: &str) -> Result<Url, HttpError> {
    Url::parse(url).map_err(|error| HttpError::Url {
        url: url.to_owned(),
        reason: error.to_string(),
    })
}
