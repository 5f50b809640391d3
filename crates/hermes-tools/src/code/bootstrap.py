import sys, os, json, binascii, threading
_in = os.fdopen(os.dup(0), "rb")
_null = os.open(os.devnull, os.O_RDONLY)
os.dup2(_null, 0)
os.close(_null)
_wire = os.dup(1)
_start = json.loads(_in.readline())
_mark = ("\x1e" + _start["mark"]).encode()
_lock = threading.RLock()


def _send(kind, data):
    # Lines short enough that a pipe never mixes them with what others print.
    with _lock:
        for at in range(0, max(len(data), 1), 2400):
            last = b"." if at + 2400 >= len(data) else b"+"
            line = _mark + kind + last + binascii.b2a_base64(data[at:at + 2400])
            while line:
                line = line[os.write(_wire, line):]


class _Errors:
    encoding = "utf-8"
    errors = "replace"

    def write(self, text):
        if text:
            _send(b"E", text.encode("utf-8", "replace"))
        return len(text)

    def flush(self):
        pass

    def isatty(self):
        return False

    def fileno(self):
        return 2


def _call(name, arguments):
    with _lock:
        sys.stdout.flush()
        _send(b"C", json.dumps({"tool": name, "args": arguments}).encode())
        answer = _in.readline()
    if not answer:
        raise RuntimeError("the tools are gone")
    text = json.loads(answer)
    try:
        return json.loads(text)
    except ValueError:
        return text


def _given(values):
    return {name: value for name, value in values.items() if value is not None}


def web_search(query, limit=5):
    return _call("web_search", {"query": query, "limit": limit})


def web_extract(urls):
    return _call("web_extract", {"urls": urls})


def read_file(path, offset=1, limit=500):
    return _call("read_file", {"path": path, "offset": offset, "limit": limit})


def write_file(path, content, cross_profile=False):
    return _call("write_file", {"path": path, "content": content, "cross_profile": cross_profile})


def search_files(pattern, target="content", path=".", file_glob=None, limit=50, offset=0, output_mode="content", context=0):
    return _call("search_files", _given(locals()))


def patch(path=None, old_string=None, new_string=None, replace_all=False, mode="replace", patch=None, cross_profile=False):
    return _call("patch", _given(locals()))


def terminal(command, timeout=None, workdir=None):
    return _call("terminal", _given(locals()))


def json_parse(text):
    return json.loads(text, strict=False)


def shell_quote(text):
    import shlex
    return shlex.quote(text)


def retry(function, max_attempts=3, delay=2):
    import time
    for attempt in range(max_attempts):
        try:
            return function()
        except Exception:
            if attempt + 1 == max_attempts:
                raise
            time.sleep(delay * 2 ** attempt)


_tools = type(sys)("hermes_tools")
for _name in _start["tools"] + ["json_parse", "shell_quote", "retry"]:
    setattr(_tools, _name, globals()[_name])
sys.modules["hermes_tools"] = _tools
sys.stderr = _Errors()
# What was printed before an end by force is not lost.
sys.stdout.reconfigure(line_buffering=True)
sys.argv = ["script.py"]
if _start["path"]:
    sys.path.insert(0, "")
_code = _start["code"]
_main = type(sys)("__main__")
_main.__dict__["__file__"] = "script.py"
sys.modules["__main__"] = _main
_status = 0
try:
    exec(compile(_code, "script.py", "exec"), _main.__dict__)
except SystemExit as _exit:
    _status = _exit.code
    if _status is None:
        _status = 0
    elif not isinstance(_status, int):
        sys.stderr.write(str(_status) + "\n")
        _status = 1
except BaseException as _error:
    import linecache, traceback
    linecache.cache["script.py"] = (len(_code), None, _code.splitlines(True), "script.py")
    _trace = _error.__traceback__
    traceback.print_exception(type(_error), _error, _trace.tb_next if _trace else None)
    _status = 1
for _thread in threading.enumerate():
    if _thread is not threading.current_thread() and not _thread.daemon:
        _thread.join()
try:
    sys.stdout.flush()
except Exception:
    pass
import atexit
if hasattr(atexit, "_run_exitfuncs"):
    atexit._run_exitfuncs()
os._exit(_status & 255)
