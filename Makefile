# SPDX-License-Identifier: GPL-2.0-only
#
# What a person types; `make help` lists it. Kbuild reads Kbuild, not this file.

KERNEL ?= 6.12
KDIR ?= /lib/modules/$(shell uname -r)/build
PREFIX ?= /usr/local
DESTDIR ?=
export DESTDIR

MODPROBE_CONF := $(DESTDIR)/etc/modprobe.d/vhost_tap.conf
S := scripts
# Kbuild variables that a person may set on the command line.
KVARS := $(foreach v,W C V KCFLAGS,$(if $($(v)),$(v)=$($(v))))

.DEFAULT_GOAL := all
.PHONY: all modules tools install uninstall modules_install demo check check-all check-debug check-race
.PHONY: bench bench-ring bench-icount bench-guests check-build vm style mutants
.PHONY: fuzz hostile dkms-install dkms-uninstall clean help deps

all: modules tools

deps:
	@$(S)/deps.sh build
	@test -e "$(KDIR)/Makefile" || $(S)/deps.sh headers "$(KDIR)"

modules: deps
	$(MAKE) -C $(KDIR) M=$(CURDIR) $(KVARS) modules

tools: deps
	$(MAKE) -C tools/vhost_tap

modules_install:
	$(MAKE) -C $(KDIR) M=$(CURDIR) $(if $(DESTDIR),INSTALL_MOD_PATH=$(DESTDIR)) \
		INSTALL_MOD_DIR=updates modules_install

install: all modules_install
	install -D -m 0644 $(S)/modprobe.conf $(MODPROBE_CONF)
	$(MAKE) -C tools/vhost_tap install PREFIX=$(PREFIX)
	@echo "install: done; load it with: modprobe vhost_tap (or open /dev/vhost-net)"

uninstall:
	rm -f $(MODPROBE_CONF)
	$(S)/uninstall.sh "$(KDIR)"
	$(MAKE) -C tools/vhost_tap uninstall PREFIX=$(PREFIX)
	@echo "uninstall: done; /dev/vhost-net belongs to the kernel's vhost_net again"

dkms-install:
	@$(S)/dkms.sh install

dkms-uninstall:
	@$(S)/dkms.sh uninstall

demo:
	@$(S)/demo.sh --kernel $(KERNEL)

check:
	@$(S)/check.sh --kernel $(KERNEL) $(if $(TESTS),--tests "$(TESTS)")

check-debug:
	@$(S)/check.sh --kernel 6.12-debug $(if $(TESTS),--tests "$(TESTS)")

# The tests in which things happen at once.
check-race: RACE := lifecycle_test owner_test stress_test hostile_program_test
check-race:
	@$(S)/check.sh --kernel 6.12-race --tests "$(or $(TESTS),$(RACE))"

check-all:
	@$(S)/check.sh --all $(if $(TESTS),--tests "$(TESTS)")

bench-ring:
	@$(S)/bench-ring.sh --kernel $(KERNEL)

bench:
	@$(S)/bench.sh --kernel $(KERNEL) $(if $(PAIRS),--pairs $(PAIRS)) \
		$(if $(SCENARIOS),--scenarios "$(SCENARIOS)")

bench-icount:
	@$(S)/bench-icount.sh --kernel $(KERNEL) $(if $(RECORD),--record)

bench-guests:
	@$(S)/bench-guests.sh $(if $(ROUNDS),--rounds $(ROUNDS)) \
		$(if $(SCENARIOS),--scenarios "$(SCENARIOS)")

style:
	@$(S)/style.sh

mutants:
	@$(S)/mutants.sh --kernel $(KERNEL) $(MUTANTS)

fuzz:
	@$(S)/fuzz.sh $(if $(SECONDS),--seconds $(SECONDS)) $(FUZZ)

hostile:
	@$(S)/hostile.sh $(if $(ROUNDS),--rounds $(ROUNDS)) $(if $(SEED),--seed $(SEED))

vm:
	@$(S)/build.sh --kernel $(KERNEL) >/dev/null
	@$(S)/vm.sh --kernel $(KERNEL) --modules out/$(KERNEL)/modules \
		$(if $(GDB),--gdb) --shell -- bash -c \
		'PATH=$$PATH:$(CURDIR)/out/$(KERNEL)/tree/tools/vhost_tap; modprobe vhost_tap && \
		echo "vhost_tap is loaded; exit or ^D ends the VM"; exec bash -i'

clean:
	rm -rf out
	find drivers tools Module.symvers modules.order .tmp_versions .*.cmd .*.o \
		\( -name '*.o' -o -name '*.ko' -o -name '*.mod' -o -name '*.mod.c' \
		-o -name '.*.cmd' -o -name modules.order -o -name Module.symvers \
		-o -name '*.a' -o -name '.module-common.o' \) -delete 2>/dev/null || :
	$(MAKE) -s -C tools/vhost_tap clean

help:
	@echo 'make                 build for the running kernel, or for KDIR=…'
	@echo '                     (drivers/vhost_tap/vhost_tap.ko and tools/vhost_tap/vhost-tap)'
	@echo 'make install         install module, modprobe configuration, tool (as root)'
	@echo 'make uninstall       remove them; /dev/vhost-net goes back to the kernel'
	@echo 'make dkms-install    build and install through DKMS; dkms-uninstall removes it'
	@echo 'make demo            a Linux guest passes traffic through the module, in a VM'
	@echo 'make check           the tests, in a VM (KERNEL=6.1, 6.12, 7.3; TESTS="name…" picks)'
	@echo 'make check-all       the same on every supported kernel'
	@echo 'make check-debug     the same on a kernel with KASAN, lockdep, kmemleak, fault injection'
	@echo 'make check-race      those that do several things at once, on a kernel with KCSAN'
	@echo 'make bench           against in-tree vhost_net, side by side (PAIRS=, SCENARIOS="…")'
	@echo 'make bench-guests    two Linux guests on in-tree, on ours and on QEMU alone, in turn'
	@echo '                     (ROUNDS=N, SCENARIOS="vm-vm/* …" picks)'
	@echo 'make mutants         plant known bugs, prove that a test fails for each'
	@echo 'make fuzz            the portable files under libFuzzer (SECONDS=60 each; FUZZ="ring mem msg" picks)'
	@echo 'make hostile         a hostile guest, many rounds (ROUNDS=N, SEED=N)'
	@echo 'make bench-ring      the ring code alone on the bare CPU, beside vringh'
	@echo 'make bench-icount    instructions a packet, compared with the record (RECORD=1 renews it)'
	@echo 'make style           checkpatch, sparse, coccicheck, include rules, shellcheck'
	@echo 'make vm              a shell in the host VM, module loaded (KERNEL=, GDB=1)'
	@echo 'make clean           remove what was built in the tree'
	@echo 'Kbuild variables W=1 C=1 V=1 work with make. Kernels and the like are kept in'
	@echo '~/.cache/vhost_tap (VTAP_CACHE= names another folder).'
