# Reads "+ <session>" and "- <session>". When its input ends, the process that started the sessions has ended:
# kill those that are still listed. It must outlive the one it watches, so it answers no signal.
trap '' HUP INT QUIT TERM
live=' '
while read -r op sid; do
  case $op in
  +) live="$live$sid " ;;
  -) live="${live%% "$sid" *} ${live#* "$sid" }" ;;
  esac
done
[ "$live" = ' ' ] && exit
for sid in $live; do kill -KILL -- "-$sid"; done 2>/dev/null
# Processes that left their group but not their session, where /proc shows them.
for stat in /proc/[0-9]*/stat; do
  { read -r line <"$stat"; } 2>/dev/null || continue
  pid=${stat#/proc/} pid=${pid%/stat}
  set -- ${line##*) }
  case $live in *" $4 "*) kill -KILL "$pid" 2>/dev/null ;; esac
done
