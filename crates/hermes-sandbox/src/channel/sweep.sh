# Finds everything that came from one call and signals it, with builtins only: it
# must work when no process can be started any more.
#
# A process belongs to the call when it carries the call's mark (its hard limit of
# file locks, which Linux does not enforce, which every descendant inherits and
# which neither setsid, a second fork nor an empty environment takes away), when
# it sits in the session of the call's first process, or when its parent belongs.
_h_marked() {
    while read -r _h_1 _h_2 _h_3 _h_4 _h_5 _h_6; do
        case "$_h_1 $_h_2 $_h_3" in
        "Max file locks")
            [ "$_h_5" = "$_h_mark" ]
            return
            ;;
        esac
    done <"/proc/$1/limits"
    return 1
}
# SIGNAL MARK LEADER LEADER_START; leaves the living members in _h_members, their number in _h_found.
_h_sweep() {
    _h_signal=$1 _h_mark=$2 _h_leader=$3 _h_since=$4
    _h_session=none _h_members=' ' _h_found=0 _h_grown=yes _h_round=1
    if IFS= read -r _h_stat <"/proc/$_h_leader/stat"; then
        set -- ${_h_stat##*) }
        # The number means the leader only while its start time is the same.
        [ "${20}" = "$_h_since" ] && _h_session=$_h_leader
    fi
    while [ $_h_grown = yes ] && [ $_h_round -le 8 ]; do
        _h_grown=no
        for _h_dir in /proc/[0-9]*; do
            _h_pid=${_h_dir#/proc/}
            [ "$_h_pid" = 1 ] && continue
            [ "$_h_pid" = $$ ] && continue
            case $_h_members in *" $_h_pid "*) continue ;; esac
            IFS= read -r _h_stat <"$_h_dir/stat" || continue
            set -- ${_h_stat##*) }
            case $1 in Z | X) continue ;; esac
            _h_in=no
            if [ "$4" = "$_h_session" ]; then
                _h_in=yes
            else
                case $_h_members in *" $2 "*) _h_in=yes ;; esac
            fi
            if [ $_h_in = no ] && [ $_h_round = 1 ]; then
                _h_marked "$_h_pid" && _h_in=yes
            fi
            [ $_h_in = yes ] || continue
            _h_members="$_h_members$_h_pid " _h_grown=yes _h_found=$((_h_found + 1))
            [ "$_h_signal" = 0 ] && continue
            kill -s "$_h_signal" "$_h_pid"
            # A stopped process takes TERM only when it goes on.
            [ "$_h_signal" = TERM ] && kill -s CONT "$_h_pid"
        done
        _h_round=$((_h_round + 1))
    done
}
# The users to whom the members found last belong, in _h_users.
_h_owners() {
    _h_users=' '
    for _h_pid in $_h_members; do
        while read -r _h_1 _h_2 _h_3; do
            [ "$_h_1" = Uid: ] || continue
            case $_h_users in *" $_h_2 "*) ;; *) _h_users="$_h_users$_h_2 " ;; esac
            break
        done <"/proc/$_h_pid/status"
    done
}
