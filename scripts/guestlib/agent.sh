#!/bin/busybox sh
# SPDX-License-Identifier: Apache-2.0
# First and only process of the guest's own: prepares the file systems, then answers the host.
# Protocol, one line per request on a virtio-serial port:
#   ping NONCE                 -> RS P NONCE BOOT-ID LF
#   run NONCE BASE64-SCRIPT    -> RS B NONCE LF, raw output, RS E NONCE STATUS LF
# and once per boot, unasked:     RS R BOOT-ID LF           (RS is the byte 0x1e)
# NONCE is random, so that no output can be mistaken for the end of a command.

export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C
export TERM=linux
bb=/bin/busybox
$bb mount -t devtmpfs dev /dev
$bb mkdir -p /proc /sys /run /tmp /dev/pts /dev/shm
$bb mount -t proc proc /proc
$bb mount -t sysfs sys /sys
$bb mount -t tmpfs run /run
$bb mount -t tmpfs tmp /tmp
$bb mount -t devpts pts /dev/pts
$bb mount -t tmpfs shm /dev/shm
$bb mount -t debugfs debug /sys/kernel/debug
$bb mount -t configfs config /sys/kernel/config 2>/dev/null
$bb mkdir -p /run/agent /var/run /var/tmp /var/log
$bb ip link set lo up
$bb hostname guest
ulimit -l unlimited
ulimit -c 0
echo 1 >/proc/sys/kernel/sysrq
modprobe -qa virtio_pci virtio_console
# After each card the slot driver waits 5 s for somebody who presses the button again. The host has
# the bus scanned instead.
for slot in /sys/bus/pci_express/drivers/pciehp/*:*; do
    [ -e "$slot" ] && echo "${slot##*/pciehp/}" >/sys/bus/pci_express/drivers/pciehp/unbind
done

boot_id=$($bb cat /proc/sys/kernel/random/boot_id)

port_of() {
    for entry in /sys/class/virtio-ports/*; do
        [ "$($bb cat "$entry/name" 2>/dev/null)" = "cxsim.$1" ] && echo "/dev/${entry##*/}"
    done
}

serve() {
    name=$1
    while :; do
        port=$(port_of "$name")
        if [ -z "$port" ] || ! exec 3<>"$port"; then $bb sleep 0.2; continue; fi
        printf '\036R %s\n' "$boot_id" >&3
        while read -r verb nonce payload <&3; do
            case $verb in
            ping) printf '\036P %s %s\n' "$nonce" "$boot_id" >&3 ;;
            run)
                echo "$payload" | $bb base64 -d >"/run/agent/$name.script"
                printf '\036B %s\n' "$nonce" >&3
                $bb setsid /bin/bash "/run/agent/$name.script" </dev/null >&3 2>&1 3>&- &
                echo $! >"/run/agent/$name.pid"
                wait $!
                printf '\036E %s %d\n' "$nonce" $? >&3
                $bb rm -f "/run/agent/$name.pid" ;;
            esac
        done
        exec 3>&-
        $bb sleep 0.2  # the host went away: its next connection is a new stream
    done
}

# Each record of /dev/kmsg keeps its priority, sequence number and time. `cat` ends when records
# were overwritten before it read them; the host sees the gap in the sequence numbers.
stream_log() {
    while :; do
        port=$(port_of kmsg)
        [ -n "$port" ] && exec 3>"$port" && break
        $bb sleep 0.2
    done
    printf '\036R %s\n' "$boot_id" >&3
    while :; do $bb cat /dev/kmsg >&3 2>/dev/null; $bb sleep 0.1; done
}

stream_log &
serve aux &
serve exec &

# busybox `reboot`, `poweroff` and `halt` tell process 1 by these signals.
trap '$bb sync; $bb reboot -f' TERM
trap '$bb sync; $bb poweroff -f' USR2
trap '$bb sync; $bb halt -f' USR1
while :; do wait; $bb sleep 1; done
