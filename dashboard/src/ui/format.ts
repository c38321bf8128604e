// How numbers and moments are written.

const whole = new Intl.NumberFormat('en')
const short = new Intl.NumberFormat('en', { maximumSignificantDigits: 3 })

/** count writes a whole number with separators. */
export const count = (n: number | undefined | null): string => (n == null ? '–' : whole.format(n))

/** bytes writes a size with its unit. */
export function bytes(n: number | undefined | null): string {
  if (n == null) return '–'
  const units = ['B', 'KB', 'MB', 'GB', 'TB', 'PB']
  let unit = 0
  while (n >= 1000 && unit < units.length - 1) {
    n /= 1000
    unit++
  }
  return `${short.format(n)} ${units[unit]}`
}

/** rate writes a number that is no whole one. */
export const rate = (n: number): string => (n === 0 ? '0' : short.format(n))

/** share writes a part of 1 as per cent. */
export const share = (part: number): string => `${short.format(part * 100)} %`

const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto' })

/** ago writes how long ago a moment was. */
export function ago(moment: string | number | Date | null | undefined): string {
  if (moment == null) return 'never'
  let seconds = (new Date(moment).getTime() - Date.now()) / 1000
  for (const [unit, length] of [['second', 60], ['minute', 60], ['hour', 24], ['day', 30], ['month', 12]] as const) {
    if (Math.abs(seconds) < length) return relative.format(Math.round(seconds), unit)
    seconds /= length
  }
  return relative.format(Math.round(seconds), 'year')
}

/** shortRev writes the beginning of a revision. */
export const shortRev = (rev: string): string => rev.replace(/^(\d+-.{8}).*$/, '$1…')
