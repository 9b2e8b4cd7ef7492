package imports

// pythonStandardModules are the modules of Python's own library that hold no others, up to 3.14 and with those that were
// removed after 3.6. Source: sys.stdlib_module_names.
var pythonStandardModules = map[string]bool{
	"__future__": true, "__main__": true, "_thread": true, "abc": true, "aifc": true, "annotationlib": true,
	"antigravity": true, "argparse": true, "array": true, "ast": true, "asynchat": true, "asyncore": true, "atexit": true,
	"audioop": true, "base64": true, "bdb": true, "binascii": true, "bisect": true, "builtins": true, "bz2": true,
	"cProfile": true, "calendar": true, "cgi": true, "cgitb": true, "chunk": true, "cmath": true, "cmd": true, "code": true,
	"codecs": true, "codeop": true, "colorsys": true, "compileall": true, "configparser": true, "contextlib": true,
	"contextvars": true, "copy": true, "copyreg": true, "crypt": true, "csv": true, "dataclasses": true, "datetime": true,
	"decimal": true, "difflib": true, "dis": true, "doctest": true, "enum": true, "errno": true, "faulthandler": true,
	"fcntl": true, "filecmp": true, "fileinput": true, "fnmatch": true, "fractions": true, "ftplib": true, "functools": true,
	"gc": true, "genericpath": true, "getopt": true, "getpass": true, "gettext": true, "glob": true, "graphlib": true,
	"grp": true, "gzip": true, "hashlib": true, "heapq": true, "hmac": true, "imaplib": true, "imghdr": true, "imp": true,
	"inspect": true, "io": true, "ipaddress": true, "itertools": true, "keyword": true, "linecache": true, "locale": true,
	"lzma": true, "mailbox": true, "mailcap": true, "marshal": true, "math": true, "mimetypes": true, "mmap": true,
	"modulefinder": true, "msilib": true, "msvcrt": true, "netrc": true, "nis": true, "nntplib": true, "nt": true,
	"ntpath": true, "nturl2path": true, "numbers": true, "opcode": true, "operator": true, "optparse": true,
	"ossaudiodev": true, "pdb": true, "pickle": true, "pickletools": true, "pipes": true, "pkgutil": true, "platform": true,
	"plistlib": true, "poplib": true, "posix": true, "posixpath": true, "pprint": true, "profile": true, "pstats": true,
	"pty": true, "pwd": true, "py_compile": true, "pyclbr": true, "pydoc": true, "pyexpat": true, "queue": true, "quopri": true,
	"random": true, "readline": true, "reprlib": true, "resource": true, "rlcompleter": true, "runpy": true, "sched": true,
	"secrets": true, "select": true, "selectors": true, "shelve": true, "shlex": true, "shutil": true, "signal": true,
	"site": true, "smtpd": true, "smtplib": true, "sndhdr": true, "socket": true, "socketserver": true, "spwd": true,
	"sre_compile": true, "sre_constants": true, "sre_parse": true, "ssl": true, "stat": true, "statistics": true,
	"stringprep": true, "struct": true, "subprocess": true, "sunau": true, "symtable": true, "sys": true, "syslog": true,
	"tabnanny": true, "tarfile": true, "telnetlib": true, "tempfile": true, "termios": true, "textwrap": true, "this": true,
	"threading": true, "time": true, "timeit": true, "token": true, "tokenize": true, "trace": true, "traceback": true,
	"tracemalloc": true, "tty": true, "turtle": true, "types": true, "typing": true, "unicodedata": true, "uu": true,
	"uuid": true, "warnings": true, "wave": true, "weakref": true, "webbrowser": true, "winreg": true, "winsound": true,
	"xdrlib": true, "zipapp": true, "zipfile": true, "zipimport": true, "zlib": true,
}

// pythonStandardPackages are those that hold others.
var pythonStandardPackages = map[string]bool{
	"asyncio": true, "collections": true, "compression": true, "concurrent": true, "ctypes": true, "curses": true, "dbm": true,
	"distutils": true, "email": true, "encodings": true, "ensurepip": true, "html": true, "http": true, "idlelib": true,
	"importlib": true, "json": true, "lib2to3": true, "logging": true, "multiprocessing": true, "os": true, "pathlib": true,
	"pydoc_data": true, "re": true, "sqlite3": true, "string": true, "sysconfig": true, "test": true, "tkinter": true,
	"tomllib": true, "turtledemo": true, "unittest": true, "urllib": true, "venv": true, "wsgiref": true, "xml": true,
	"xmlrpc": true, "zoneinfo": true,
}

// isPythonStandard tells whether an absolute import means Python's own library. A module of it that holds no others leaves
// what seems to be in it to the repository: types.orders is nobody's but its own. So does test, which no other project uses.
func isPythonStandard(segments []string) bool {
	first := segments[0]
	if first == "test" && len(segments) > 1 {
		return segments[1] == "support"
	}
	return pythonStandardPackages[first] || pythonStandardModules[first] && len(segments) == 1
}
