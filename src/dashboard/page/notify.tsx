/** Notifications of the browser: of what is no longer as usual, while the page is open in any tab. */
import { effect, signal } from '@preact/signals'
import type { JSX } from 'preact'
import type { Trouble } from '../trouble.ts'
import { about } from './about.ts'
import { get } from './api.ts'
import { say } from './dialog.tsx'

const storedAs = 'jobchart notifications'
const everyMs = 30_000

const isOn = signal(localStorage.getItem(storedAs) === 'on')
let known: ReadonlySet<string> | null = null
let timer: ReturnType<typeof setInterval> | null = null

/** Looks for trouble as long as notifications are wanted, also while the page is hidden. */
export function startNotify(): void {
  effect(() => {
    if (isOn.value && timer === null) {
      timer = setInterval(() => void look(), everyMs)
      void look()
    } else if (!isOn.value && timer !== null) {
      clearInterval(timer)
      timer = null
      known = null
    }
  })
}

async function look(): Promise<void> {
  const answer = await get<{ readonly trouble: readonly Trouble[] }>('/trouble').catch(() => null)
  if (answer === null) return
  const { trouble } = answer
  // What is there when they are switched on stands on the page.
  const began = known === null ? [] : trouble.filter(({ key }) => known?.has(key) === false)
  known = new Set(trouble.map(({ key }) => key))
  for (const trouble of began) notify(trouble)
}

const notify = ({ key, text }: Trouble): Notification => new Notification(about.value.title, { body: text, tag: key })

async function toggle(): Promise<void> {
  if (isOn.value) isOn.value = false
  else if ((await Notification.requestPermission()) === 'granted') isOn.value = true
  else return say('The browser does not allow notifications of this page.', true)
  localStorage.setItem(storedAs, isOn.value ? 'on' : 'off')
  say(
    isOn.value
      ? 'This browser tells what is no longer as usual, while the page is open.'
      : 'No notifications any more.',
  )
}

/** Nothing where the browser has no notifications: a page that was not loaded by HTTPS or from this computer. */
export const NotifyButton = (): JSX.Element | null =>
  'Notification' in globalThis ? (
    <button type="button" class="quiet" aria-pressed={isOn.value} onClick={() => void toggle()}>
      {isOn.value ? 'Notifications are on' : 'Notify me'}
    </button>
  ) : null
