/** Confirmations and short messages. */
import { signal } from '@preact/signals'
import type { ComponentChildren, JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { ApiError } from './api.ts'

interface Question {
  readonly title: string
  readonly text: string
  /** On the button. */
  readonly verb: string
  readonly danger?: boolean
  /** Asks for a line of text. */
  readonly reason?: string
  readonly run: (reason: string) => Promise<string>
}

const question = signal<Question | null>(null)
const message = signal<{ readonly text: string; readonly bad: boolean } | null>(null)
let messageTimer: ReturnType<typeof setTimeout> | undefined

export const ask = (next: Question): void => void (question.value = next)

export function say(text: string, bad = false): void {
  message.value = { text, bad }
  clearTimeout(messageTimer)
  messageTimer = setTimeout(() => (message.value = null), bad ? 8_000 : 4_000)
}

export const sayError = (error: unknown): void => say(error instanceof Error ? error.message : String(error), true)

/** Runs a change and says how it went. */
export async function change(run: () => Promise<string>): Promise<void> {
  try {
    say(await run())
  } catch (error) {
    say(error instanceof ApiError ? `${error.message} ${error.hint ?? ''}` : String(error), true)
  }
}

export function Dialogs(): JSX.Element {
  return (
    <>
      {question.value !== null && <Confirmation of={question.value} />}
      <div class="messages" role="status" aria-live="polite">
        {message.value !== null && <p class={message.value.bad ? 'bad' : ''}>{message.value.text}</p>}
      </div>
    </>
  )
}

function Confirmation({ of: { title, text, verb, danger, reason, run } }: { readonly of: Question }): JSX.Element {
  const [given, setGiven] = useState('')
  const close = (): void => void (question.value = null)
  const confirm = async (): Promise<void> => {
    await change(() => run(given.trim()))
    close()
  }
  return (
    <FormDialog title={title} verb={verb} danger={danger} onConfirm={confirm} onClose={close}>
      <p>{text}</p>
      {reason !== undefined && (
        <label>
          {reason}
          <input value={given} maxLength={500} onInput={(event) => setGiven(event.currentTarget.value)} />
        </label>
      )}
    </FormDialog>
  )
}

interface FormDialogProps {
  readonly title: string
  readonly verb: string
  readonly danger?: boolean | undefined
  readonly onConfirm: () => Promise<void>
  readonly onClose: () => void
  readonly children: ComponentChildren
}

/** A dialog with a form, whose first field or else whose button has the focus. */
export function FormDialog({ title, verb, danger, onConfirm, onClose, children }: FormDialogProps): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null)
  const [busy, setBusy] = useState(false)
  useEffect(() => {
    dialog.current?.showModal()
    dialog.current?.querySelector<HTMLElement>('input, select, textarea, [type=submit]')?.focus()
  }, [])
  const confirm = async (event: Event): Promise<void> => {
    event.preventDefault()
    setBusy(true)
    await onConfirm()
    setBusy(false)
  }
  return (
    <dialog ref={dialog} onClose={onClose} aria-labelledby="question">
      <form onSubmit={(event) => void confirm(event)}>
        <h2 id="question">{title}</h2>
        {children}
        <footer>
          <button type="button" onClick={onClose}>
            Back
          </button>
          <button type="submit" class={danger === true ? 'danger' : 'primary'} disabled={busy}>
            {busy ? 'Working…' : verb}
          </button>
        </footer>
      </form>
    </dialog>
  )
}
