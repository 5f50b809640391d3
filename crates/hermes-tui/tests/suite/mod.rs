mod tmux;
