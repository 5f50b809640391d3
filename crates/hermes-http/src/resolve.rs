//! Name resolution with a preference for IPv4 and a guard on what comes out.

use std::net::SocketAddr;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use crate::Reach;
use crate::guard::check_address;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Resolver {
    pub(crate) force_ipv4: bool,
    /// `None` for URLs of the user's own configuration: those may go anywhere.
    pub(crate) reach: Option<Reach>,
}

impl Resolver {
    /// Every address must pass: a name with one public and one private address is
    /// refused, because which of them is used is not ours to choose.
    pub(crate) async fn lookup(
        self,
        host: &str,
    ) -> Result<Vec<SocketAddr>, Box<dyn std::error::Error + Send + Sync>> {
        let mut addresses: Vec<SocketAddr> = tokio::net::lookup_host((host, 0)).await?.collect();
        if let Some(reach) = self.reach {
            for address in &addresses {
                check_address(address.ip(), reach)?;
            }
        }
        if self.force_ipv4 && addresses.iter().any(SocketAddr::is_ipv4) {
            addresses.retain(SocketAddr::is_ipv4);
        }
        Ok(addresses)
    }
}

impl Resolve for Resolver {
    fn resolve(&self, name: Name) -> Resolving {
        let resolver = *self;
        Box::pin(async move {
            let addresses: Addrs = Box::new(resolver.lookup(name.as_str()).await?.into_iter());
            Ok(addresses)
        })
    }
}
