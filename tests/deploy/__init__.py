"""The files of deploy/ for containers: as good as can be said without running one."""
