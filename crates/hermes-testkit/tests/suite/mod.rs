mod model_server;
mod processes;
mod snapshots;
