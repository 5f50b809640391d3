//! Which profile a call works in: the flag, else the home a parent process handed
//! down, else the sticky choice.

use hermes_types::ProfileName;

use super::active;
use crate::{Environment, Home, ProfileError};

/// What decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SelectedBy {
    Flag,
    /// `HERMES_HOME` points into `profiles/`: we are a child of a profile's process.
    Inherited,
    /// `active_profile`.
    Sticky,
    Default,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selected {
    pub home: Home,
    pub by: SelectedBy,
}

/// Decides the home. [`ProfileError::Dangling`] means that `active_profile` names
/// nothing; verbs that must work all the same go on with [`Home::locate`].
pub fn select(environment: &Environment, flag: Option<&str>) -> Result<Selected, ProfileError> {
    let located = Home::locate(environment);
    if let Some(text) = flag {
        let name = ProfileName::parse(text)?;
        let home = located.of_profile(&name);
        return if name.is_default() || home.path().is_dir() {
            Ok(Selected {
                home,
                by: SelectedBy::Flag,
            })
        } else {
            Err(ProfileError::Unknown { name })
        };
    }
    let inherited = located
        .path()
        .parent()
        .is_some_and(|parent| parent.ends_with("profiles"));
    if inherited {
        return Ok(Selected {
            home: located,
            by: SelectedBy::Inherited,
        });
    }
    let Some(text) = active::read(&located) else {
        return Ok(Selected {
            home: located,
            by: SelectedBy::Default,
        });
    };
    let sticky = ProfileName::parse(&text)
        .ok()
        .map(|name| located.of_profile(&name));
    match sticky.filter(|home| home.path().is_dir()) {
        Some(home) => Ok(Selected {
            home,
            by: SelectedBy::Sticky,
        }),
        None => Err(ProfileError::Dangling {
            name: text,
            file: located.active_profile_file(),
        }),
    }
}
