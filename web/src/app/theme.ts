/** Light, dark, or as the system has it. */
export type Theme = 'light' | 'dark' | 'system'

export function chosenTheme(): Theme {
  const theme = document.documentElement.dataset.theme
  return theme === 'light' || theme === 'dark' ? theme : 'system'
}

/** Chooses a theme, for this browser from now on. public/theme.js reads it before the first paint. */
export function chooseTheme(theme: Theme): void {
  if (theme === 'system') delete document.documentElement.dataset.theme
  else document.documentElement.dataset.theme = theme
  try {
    if (theme === 'system') localStorage.removeItem('theme')
    else localStorage.setItem('theme', theme)
  } catch {
    // A browser that keeps nothing: for this page only.
  }
}
