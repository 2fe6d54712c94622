// Before the first paint, and in a file of its own because the page's policy lets no inline script run.
try {
  const theme = localStorage.getItem('theme')
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme
} catch {
  // A browser that keeps nothing: as the system has it.
}
