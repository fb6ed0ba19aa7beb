G=/tmp/b/rel/examples/train_gpt
t() { echo "== $*"; timeout 60 "$@" 2>&1 | head -6 | cut -c1-300; echo "rc ${PIPESTATUS[0]}"; }
: > empty; echo hi > tiny; head -c 65 /dev/urandom > t65; head -c 64 /dev/urandom > t64;head -c 129 /dev/urandom > t129
t $G --replicas 0
t $G --ranks 9 --replicas 2
t $G --ranks 0
t $G --ranks -1
t $G --ranks 99999999999999999999
t $G --ranks 2147483648
t $G --ranks 4294967297
t $G --steps 0
t $G --steps -1
t $G --steps 9223372036854775807 --ranks 3x
t $G --micro-batches 0
t $G --micro-batches 9223372036854775807 --steps 1
t $G --micro-batches 3 --ranks 2 --steps 1
t $G --seed -1 --steps 1
t $G --seed 18446744073709551615 --steps 1
t $G --seed 18446744073709551616 --steps 1
t $G --text empty --steps 1
t $G --text tiny --steps 1
t $G --text t64 --steps 1
t $G --text t65 --steps 1
t $G --text t129 --steps 1
t $G --text /tmp --steps 1
t $G --text /nonexistent --steps 1
t $G --text /dev/null --steps 1
t $G --json /nonexistent/x.json --steps 1
t $G --json /proc/x.json --steps 1
t $G --json /tmp --steps 1
t $G --json /dev/full --steps 1
t $G --svg /dev/full --steps 1
t $G --json - --svg - --steps 1
t $G --svg - --steps 1
t $G --trace - --steps 1
t $G --trace tiny --text tiny --steps 1
t $G --json o.json --svg o.json --steps 1
t $G --optimizer foo
t $G --optimizer ""
t $G --precision fp8
t $G --steps
t $G --unknown 3
t $G extra
t $G --help
t $G --steps 1 --steps 2
