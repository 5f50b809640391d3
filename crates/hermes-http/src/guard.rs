//! Which addresses a URL may lead to when a model or a stranger chose it.
//!
//! Names are judged by what they resolve to at the moment of connecting (see
//! `resolve.rs`), so a name that changes its address between check and use gains
//! nothing. Addresses in the URL itself are judged here.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use url::{Host, Url};

use crate::Reach;

/// Why an address is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Forbidden {
    #[error("only http and https URLs can be fetched")]
    Scheme,
    #[error("it has no host")]
    NoHost,
    #[error("it leads to a private or local address")]
    Private,
    #[error("it leads to a cloud metadata service")]
    Metadata,
}

const METADATA_V4: [Ipv4Addr; 3] = [
    Ipv4Addr::new(169, 254, 169, 254),
    Ipv4Addr::new(169, 254, 170, 2),
    Ipv4Addr::new(100, 100, 100, 200),
];
const METADATA_V6: Ipv6Addr = Ipv6Addr::new(0xfd00, 0x0ec2, 0, 0, 0, 0, 0, 0x0254);
const METADATA_NAMES: [&str; 3] = [
    "metadata.google.internal",
    "metadata.goog",
    "instance-data.ec2.internal",
];

pub(crate) fn check_address(address: IpAddr, reach: Reach) -> Result<(), Forbidden> {
    let address = embedded_v4(address).map_or(address, IpAddr::V4);
    let metadata = match address {
        IpAddr::V4(v4) => METADATA_V4.contains(&v4),
        IpAddr::V6(v6) => v6 == METADATA_V6,
    };
    if metadata {
        return Err(Forbidden::Metadata);
    }
    if reach == Reach::Public && !is_public(address) {
        return Err(Forbidden::Private);
    }
    Ok(())
}

/// Scheme, host and literal address of a URL; names are left to the resolver.
pub(crate) fn check_url(url: &Url, reach: Reach) -> Result<(), Forbidden> {
    if !matches!(url.scheme(), "http" | "https") {
        return Err(Forbidden::Scheme);
    }
    match url.host().ok_or(Forbidden::NoHost)? {
        Host::Ipv4(v4) => check_address(IpAddr::V4(v4), reach),
        Host::Ipv6(v6) => check_address(IpAddr::V6(v6), reach),
        Host::Domain(name) => {
            let name = name.trim_end_matches('.');
            if METADATA_NAMES.iter().any(|m| name.eq_ignore_ascii_case(m)) {
                return Err(Forbidden::Metadata);
            }
            if reach == Reach::Public && is_local_name(name) {
                return Err(Forbidden::Private);
            }
            Ok(())
        }
    }
}

/// The IPv4 address inside a mapped, translated or 6to4 IPv6 address.
fn embedded_v4(address: IpAddr) -> Option<Ipv4Addr> {
    let IpAddr::V6(v6) = address else { return None };
    if let Some(mapped) = v6.to_ipv4_mapped() {
        return Some(mapped);
    }
    let s = v6.segments();
    let join = |high: u16, low: u16| {
        let [a, b] = high.to_be_bytes();
        let [c, d] = low.to_be_bytes();
        Ipv4Addr::new(a, b, c, d)
    };
    match s {
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => Some(join(high, low)),
        [0x2002, high, low, ..] => Some(join(high, low)),
        [0, 0, 0, 0, 0, 0, high, low] if high != 0 => Some(join(high, low)),
        _ => None,
    }
}

fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => {
            let [a, b, c, _] = v4.octets();
            !(v4.is_loopback()
                || v4.is_private()
                || v4.is_link_local()
                || v4.is_broadcast()
                || v4.is_documentation()
                || v4.is_multicast()
                || a == 0
                || a >= 240
                || (a == 100 && (64..128).contains(&b))
                || (a == 198 && (b == 18 || b == 19))
                || (a == 192 && b == 0 && c == 0))
        }
        IpAddr::V6(v6) => {
            let first = v6.segments()[0];
            !(v6.is_loopback()
                || v6.is_unspecified()
                || v6.is_multicast()
                || (first & 0xfe00) == 0xfc00
                || (first & 0xffc0) == 0xfe80
                || (first & 0xffc0) == 0xfec0
                || (first == 0x2001 && v6.segments()[1] == 0x0db8))
        }
    }
}

fn is_local_name(name: &str) -> bool {
    let name = name.trim_end_matches('.').to_ascii_lowercase();
    name == "localhost" || name.ends_with(".localhost")
}

/// Loopback, private, link-local and shared (100.64.0.0/10) addresses: where a
/// model server of one's own would listen.
pub fn is_local_address(address: IpAddr) -> bool {
    match embedded_v4(address).map_or(address, IpAddr::V4) {
        IpAddr::V4(v4) => {
            let [a, b, ..] = v4.octets();
            v4.is_loopback()
                || v4.is_private()
                || v4.is_link_local()
                || v4.is_unspecified()
                || (a == 100 && (64..128).contains(&b))
        }
        IpAddr::V6(v6) => {
            let first = v6.segments()[0];
            v6.is_loopback() || (first & 0xfe00) == 0xfc00 || (first & 0xffc0) == 0xfe80
        }
    }
}

/// Whether a URL names a server of one's own: a local address, a name without
/// dots, or one of the names that container engines give the host.
pub fn is_local_host(url: &Url) -> bool {
    match url.host() {
        None => false,
        Some(Host::Ipv4(v4)) => is_local_address(IpAddr::V4(v4)),
        Some(Host::Ipv6(v6)) => is_local_address(IpAddr::V6(v6)),
        Some(Host::Domain(name)) => {
            is_local_name(name)
                || !name.contains('.')
                || [".docker.internal", ".containers.internal", ".lima.internal"]
                    .iter()
                    .any(|suffix| name.ends_with(suffix))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(url: &str, reach: Reach) -> Result<(), Forbidden> {
        check_url(&Url::parse(url).unwrap(), reach)
    }

    #[test]
    fn addresses_that_are_not_of_the_internet_are_refused_in_every_spelling() {
        for url in [
            "http://127.0.0.1/",
            "http://127.1/",
            "http://2130706433/",
            "http://0x7f.0.0.1/",
            "http://0.0.0.0/",
            "http://10.1.2.3/",
            "http://172.16.0.1/",
            "http://192.168.1.1:8080/x",
            "http://100.64.0.1/",
            "http://198.18.0.1/",
            "http://224.0.0.1/",
            "http://255.255.255.255/",
            "http://[::1]/",
            "http://[::]/",
            "http://[fe80::1]/",
            "http://[fd12::1]/",
            "http://[::ffff:127.0.0.1]/",
            "http://[::ffff:10.0.0.1]/",
            "http://[64:ff9b::7f00:1]/",
            "http://[2002:7f00:1::]/",
            "http://[::127.0.0.1]/",
            "http://localhost/",
            "http://LOCALHOST./",
            "http://a.localhost/",
        ] {
            assert_eq!(
                verdict(url, Reach::Public),
                Err(Forbidden::Private),
                "{url}"
            );
        }
        assert_eq!(verdict("http://192.168.1.1/", Reach::Private), Ok(()));
        assert_eq!(verdict("http://localhost/", Reach::Private), Ok(()));
    }

    #[test]
    fn metadata_services_are_refused_whatever_the_settings_say() {
        for url in [
            "http://169.254.169.254/latest/meta-data",
            "http://[::ffff:169.254.169.254]/",
            "http://[fd00:ec2::254]/",
            "http://metadata.google.internal/",
            "http://Metadata.Google.Internal./",
            "http://100.100.100.200/",
        ] {
            for reach in [Reach::Public, Reach::Private] {
                assert_eq!(verdict(url, reach), Err(Forbidden::Metadata), "{url}");
            }
        }
    }

    #[test]
    fn public_addresses_and_names_pass_and_other_schemes_do_not() {
        for url in [
            "https://example.com/",
            "http://1.1.1.1/",
            "http://[2606:4700::1111]/",
        ] {
            assert_eq!(verdict(url, Reach::Public), Ok(()), "{url}");
        }
        for url in ["file:///etc/passwd", "ftp://example.com/", "gopher://x/"] {
            assert_eq!(
                verdict(url, Reach::Private),
                Err(Forbidden::Scheme),
                "{url}"
            );
        }
    }

    #[test]
    fn local_model_servers_are_recognised() {
        for url in [
            "http://localhost:11434/v1",
            "http://127.0.0.1:8080",
            "http://192.168.0.7/v1",
            "http://100.70.1.1/",
            "http://host.docker.internal:1234/v1",
            "http://gpu-box:8000/v1",
            "http://[::1]:80/",
        ] {
            assert!(is_local_host(&Url::parse(url).unwrap()), "{url}");
        }
        for url in ["https://api.openai.com/v1", "http://8.8.8.8/"] {
            assert!(!is_local_host(&Url::parse(url).unwrap()), "{url}");
        }
    }
}
