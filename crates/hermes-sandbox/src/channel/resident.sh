# Lives in the sandbox as one long exec and starts a child per request.
#
# Standard input carries requests, standard output only what commands print, and
# descriptor 3, the exec's standard error, our records. A command's output goes
# through a relay of its own: when the relay ends, nobody is left who could
# write, so the output of two calls cannot meet. If a descendant keeps the relay
# open, the other side gives this channel up and opens another.
#
#   run N NONCE   N lines of shell text follow; answers "NONCE ready", waits for
#                 "go", starts, answers "NONCE started <stat>", "NONCE exit CODE",
#                 then writes 036 NONCE to the output and answers "NONCE drained".
#                 A negative N counts bytes: a shell reads lines byte by byte, which
#                 is slow for long texts
#   take N NONCE  the same, but what follows "go" is the command's own input
#   do N          N lines to be evaluated here, without a fork
#   bye           orderly end
#
# Nothing is run before "go": a request that was lost on the way has not started.
exec 3>&2 2>/dev/null
_h_nl=$(printf '\n.')
_h_nl=${_h_nl%.}
_h_lines() {
    _h_left=$1 _h_body= _h_part=
    case $_h_left in
    -*)
        _h_body=$(head -c ${_h_left#-})
        return
        ;;
    esac
    while [ "$_h_left" -gt 0 ]; do
        IFS= read -r _h_line || exit 0
        _h_part=$_h_part$_h_line$_h_nl
        _h_left=$((_h_left - 1))
        # Appending every line to a long text would copy it as often.
        case $_h_left in *00) _h_body=$_h_body$_h_part _h_part= ;; esac
    done
    _h_body=$_h_body$_h_part
}
_h_start() {
    IFS= read -r _h_stat </proc/self/stat
    echo "$_h_nonce started $_h_stat" >&3
    exec 3>&-
    eval "$_h_body"
}
_h_orphaned() { :; }
_h_tools=
for _h_tool in bash setsid cat head; do
    command -v $_h_tool >/dev/null && _h_tools="$_h_tools $_h_tool"
done
echo "hello 1 $$$_h_tools" >&3
while IFS=' ' read -r _h_op _h_count _h_nonce; do
    case $_h_op in
    run | take)
        _h_lines "$_h_count"
        echo "$_h_nonce ready" >&3
        IFS= read -r _h_line || break
        [ "$_h_line" = go ] || continue
        if [ "$_h_op" = run ]; then
            { (_h_start) </dev/null 2>&1; echo "$_h_nonce exit $?" >&3; } | cat 3>&-
        else
            { (_h_start) 2>&1; echo "$_h_nonce exit $?" >&3; } | cat 3>&-
        fi
        printf '\036%s' "$_h_nonce"
        echo "$_h_nonce drained" >&3
        [ "$_h_op" = run ] || exit 0
        ;;
    do)
        _h_lines "$_h_count"
        eval "$_h_body"
        ;;
    bye) exit 0 ;;
    esac
done
_h_orphaned
