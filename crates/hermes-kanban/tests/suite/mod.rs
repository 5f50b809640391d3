mod corruption;
mod goldens;
mod processes;
mod schema;
mod storage;
mod support;
mod verbs;
mod walk;
