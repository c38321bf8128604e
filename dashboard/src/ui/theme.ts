import { effect, signal } from '@preact/signals'

export type Theme = 'system' | 'light' | 'dark'

const kept = 'sectional-theme'

/** theme is what the person chose; system follows the device. */
export const theme = signal<Theme>((localStorage.getItem(kept) as Theme) ?? 'system')

effect(() => {
  localStorage.setItem(kept, theme.value)
  if (theme.value === 'system') delete document.documentElement.dataset.theme
  else document.documentElement.dataset.theme = theme.value
})
