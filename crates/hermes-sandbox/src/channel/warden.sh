# On top of the sweep: the calls of one owner that must not outlive it. When the
# owner is gone, the input ends, and what it was still running is ended.
_h_watched=
_h_watch() { _h_watched="$_h_watched $1:$2:$3"; }
_h_unwatch() {
    _h_kept=
    for _h_call in $_h_watched; do
        case $_h_call in "$1:"*) ;; *) _h_kept="$_h_kept $_h_call" ;; esac
    done
    _h_watched=$_h_kept
}
_h_orphaned() {
    for _h_try in 1 2 3; do
        for _h_call in $_h_watched; do
            _h_rest=${_h_call#*:}
            _h_sweep KILL "${_h_call%%:*}" "${_h_rest%%:*}" "${_h_rest#*:}"
        done
        # One that was told to go may be about to start.
        [ -z "$_h_watched" ] || sleep 0.2
    done
}
