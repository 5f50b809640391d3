//! Trust roots: the system's certificates, else the ones we carry. A static
//! binary in a bare container has no certificate store.

use std::path::Path;
use std::sync::Arc;

use rustls::{ClientConfig, RootCertStore};

use crate::{HttpError, HttpSettings};

/// Which certificates a TLS configuration trusts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trust {
    /// None: for clients that only ever speak plain HTTP.
    Nobody,
    /// What the settings and the system say.
    Configured,
}

pub(crate) fn tls_config(settings: &HttpSettings, trust: Trust) -> Result<ClientConfig, HttpError> {
    let roots = match trust {
        Trust::Nobody => RootCertStore::empty(),
        Trust::Configured => configured_roots(settings)?,
    };
    // Named, not installed as the process default: nobody else's choice is touched.
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| HttpError::Build(error.to_string()))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

fn configured_roots(settings: &HttpSettings) -> Result<RootCertStore, HttpError> {
    let mut store = RootCertStore::empty();
    let (file, directory) = (
        settings.certificate_file.as_deref(),
        settings.certificate_directory.as_deref(),
    );
    if file.is_some() || directory.is_some() {
        add_from(&mut store, file, directory)?;
    } else {
        let native = rustls_native_certs::load_native_certs();
        for error in &native.errors {
            tracing::debug!(%error, "a system certificate could not be read");
        }
        store.add_parsable_certificates(native.certs);
    }
    if let Some(extra) = settings.extra_certificate_file.as_deref() {
        add_from(&mut store, Some(extra), None)?;
    }
    if store.is_empty() {
        store.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    }
    Ok(store)
}

fn add_from(
    store: &mut RootCertStore,
    file: Option<&Path>,
    directory: Option<&Path>,
) -> Result<(), HttpError> {
    let loaded = rustls_native_certs::load_certs_from_paths(file, directory);
    if loaded.certs.is_empty() {
        let path = file.or(directory).unwrap_or(Path::new(""));
        let reason = loaded.errors.first().map_or_else(
            || "it holds no certificate".to_owned(),
            |error| error.to_string(),
        );
        return Err(HttpError::Certificates {
            path: path.display().to_string(),
            reason,
        });
    }
    store.add_parsable_certificates(loaded.certs);
    Ok(())
}
